/** The changes of all accounts or of one as text, for the command line: newest first. */

import { now } from '../core/clock.js'
import { badRequest, notFound, shown } from '../core/errors.js'
import { getOrMake } from '../core/maps.js'
import { insteadOf } from '../core/text/nearest.js'
import { timeNamed } from '../http/lists/past-time.js'
import { resources } from '../resource/registry.js'
import type { Change } from '../shape/change-schema.js'
import type { History, HistoryEntry } from '../store/history/history.js'
import { changesOf, findEntries } from '../write/changes.js'
import type { StoreParts } from './store-parts.js'

/** Changes that the command line reports at once, and their bytes of JSON. */
const changesReportedMax = 1_000
const changesReportBytesMax = 16 * 1024 * 1024

interface ReportOptions {
  /** A length of time such as `1h`, or a time. */
  readonly since: string
  /** Empty: all accounts. */
  readonly account: string
  /** Empty: all kinds. */
  readonly kind: string
  /** A JSON object per line, with the values before and after. */
  readonly json: boolean
}

type AccountChange = { readonly account_id: string } & Change

export async function reportChanges(parts: StoreParts, options: ReportOptions): Promise<string> {
  const { store, presenter } = parts
  const { history } = store
  const { links } = presenter
  const { newest, hasMore } = await newestEntries(history, await searchOf(parts, options))
  const changes: AccountChange[] = []
  let isCut = hasMore
  let bytes = 0
  for (const [account_id, entries] of newest) {
    const page = await changesOf({ history, links }, account_id, entries)
    for (const change of page.changes) changes.push({ account_id, ...change })
    bytes += Buffer.byteLength(JSON.stringify(page.changes))
    isCut ||= page.next !== undefined || bytes > changesReportBytesMax
    if (bytes > changesReportBytesMax) break
  }
  const lines = changes.toSorted(newestFirst).map(options.json ? (change) => JSON.stringify(change) : lineOf)
  if (isCut) lines.push(options.json ? '{"more":true}' : more)
  return lines.map((line) => `${line}\n`).join('')
}

const more = 'There are older changes: see them with --account, --kind or a shorter --since.'

interface ReportSearch {
  readonly accounts: readonly string[]
  readonly kind: string
  readonly kinds: readonly string[]
  readonly sinceMs: number
}

async function searchOf(
  { store }: StoreParts,
  { since, account, kind }: ReportOptions,
): Promise<ReportSearch> {
  const sinceMs = timeNamed('--since', since, now())
  const all = resources.map((resource) => resource.kind)
  if (kind !== '' && !all.includes(kind))
    throw badRequest(`There is no kind ${shown(kind)}: ${insteadOf(kind, all)}.`)
  if (account !== '' && !store.view.state.rows.get('account')?.has(account))
    throw notFound(`There is no account ${shown(account)}.`)
  const kinds = kind === '' ? all : [kind]
  const accounts = account === '' ? await store.history.changedAccounts(sinceMs, kinds) : [account]
  return { accounts, kind, kinds, sinceMs }
}

/** The newest entries of all accounts together, by account; one account at a time, because there may be many. */
async function newestEntries(history: History, { accounts, kind, kinds, sinceMs }: ReportSearch) {
  let newest: { readonly accountId: string; readonly entry: HistoryEntry }[] = []
  let hasMore = false
  for (const accountId of accounts) {
    const search = { accountId, kinds, sinceMs, limit: changesReportedMax }
    const isWanted = kind === '' ? undefined : (head: { readonly kind: string }) => head.kind === kind
    const { entries, next } = await findEntries(history, search, isWanted)
    newest = [...newest, ...entries.map((entry) => ({ accountId, entry }))]
      .sort((one, other) => other.entry.changedAt - one.entry.changedAt)
      .slice(0, changesReportedMax + 1)
    hasMore ||= next !== undefined || newest.length > changesReportedMax
  }
  const byAccount = new Map<string, HistoryEntry[]>()
  for (const { accountId, entry } of newest.slice(0, changesReportedMax))
    getOrMake(byAccount, accountId, () => []).push(entry)
  return { newest: byAccount, hasMore }
}

const newestFirst = (one: AccountChange, other: AccountChange): number =>
  Date.parse(other.changed_at) - Date.parse(one.changed_at) || other.version - one.version

/** Times and names only: values are in the JSON. */
function lineOf({ changed_at, account_id, version, verb, kind, id, ...change }: AccountChange): string {
  const { source, api_key_id, api_key_description, client_address, operation_id, fields, rules } = change
  const called = api_key_description === null ? '' : ` (${api_key_description})`
  const author = `${api_key_id ?? source}${called}`
  const names = fields.map(({ name }) => name)
  const counts = rules === null ? [] : [`rules +${rules.added} ~${rules.updated} -${rules.removed}`]
  const columns = [changed_at, account_id, `v${version}`, verb, kind, id, author, client_address ?? '-']
  return [...columns, operation_id ?? '-', [...counts, ...names].join(', ')].join('  ').trimEnd()
}
