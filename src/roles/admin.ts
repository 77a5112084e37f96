/**
 * The commands of an operator (accounts, rights, SQL), run by the process that owns the store. If the service runs,
 * the command line sends them there over loopback, with the token from its data directory. Otherwise it opens the
 * store itself.
 */

import type { GeoLookup } from '../delivery/record/geo.js'
import { now } from '../ground/core/clock.js'
import { badRequest, notFound, shown, unavailable } from '../ground/core/errors.js'
import { getOrMake } from '../ground/core/maps.js'
import { insteadOf } from '../ground/core/nearest.js'
import { ReleaseStack } from '../ground/core/release.js'
import { isDestinationIn } from '../management/api/destination-rows.js'
import { timeNamed } from '../management/exchange/query-values.js'
import { ownersIn } from '../management/insight/dead-letter-owner.js'
import {
  changeLetters,
  groupsOfLetters,
  pageOfLetters,
  resendLetter,
} from '../management/operate/dead-letter-answers.js'
import { letterCalled, shownLetter, wholeLetter } from '../management/operate/dead-letter-queries.js'
import { DeadLetterResender } from '../management/operate/dead-letter-resender.js'
import { DeadLetters, wholeSight } from '../management/operate/dead-letters.js'
import type { Letter } from '../management/operate/letters-of-message.js'
import { lockDataDir } from '../management/process/lock.js'
import { repairedText } from '../management/process/readiness.js'
import { createRoleContext } from '../management/process/role-context.js'
import type { AdminCommand, RunCommand } from '../management/process/running-service.js'
import type { Settings } from '../management/process/settings.js'
import { backupAnswers } from '../management/store/backup/backup-answers.js'
import type { Clickhouse, TextFormat } from '../management/store/clickhouse/clickhouse.js'
import type { History, HistoryEntry } from '../management/store/history/history.js'
import { decideHostname, describeReport, listReports } from '../management/write/abuse-reports.js'
import {
  cli,
  createAccount,
  createKey,
  grantRight,
  listAccounts,
  listKeys,
  type NewAccount,
  revokeRight,
} from '../management/write/accounts.js'
import { changesOf, findEntries } from '../management/write/changes.js'
import type { Links, Row } from '../words/resource/kind/define.js'
import { resources } from '../words/resource/registry.js'
import type { Change } from '../words/shape/decisions/change-schema.js'
import { openLocalNats, withLocalNats } from './local-nats.js'
import { openDatabase, openStoreParts, type StoreParts } from './store-parts.js'

const formats: Readonly<Record<string, TextFormat>> = {
  pretty: 'PrettyCompactMonoBlock',
  tsv: 'TSVWithNames',
  csv: 'CSVWithNames',
  json: 'JSONEachRow',
}

const commands: Readonly<Record<string, (parts: StoreParts, args: AdminCommand) => Promise<string>>> = {
  async 'account create'({ store, writes }, { name = '', json = '' }) {
    const made = await createAccount(store, writes, name)
    if (made === undefined) throw new Error('The generated id is taken already: try again.')
    return describeMade(made, json)
  },
  'account list': async ({ store }, { json = '' }) => listAccounts(store, json !== ''),
  'account grant': async ({ store }, { account = '', right = '', json = '' }) =>
    describeRights(await grantRight(store, account, right), json),
  'account revoke': async ({ store }, { account = '', right = '', json = '' }) =>
    describeRights(await revokeRight(store, account, right), json),
  'key create': async ({ store, writes }, { account = '', description = '', rights, expiresIn, json = '' }) =>
    describeMade(await createKey(store, writes, account, { description, rights, expiresIn }), json),
  'key list': async ({ store, keyUses }, { account = '', json = '' }) =>
    listKeys(store, (keyId) => keyUses.lastUse(keyId), account, json !== ''),
  'abuse list': async (parts, { all = '', json = '' }) => listReports(parts, all !== '', json !== ''),
  async 'abuse decide'(parts, { report = '', hostname = '', status = '', json = '' }) {
    const decision = { report_id: report, hostname, status: status.toUpperCase() }
    return describeReport(await decideHostname(parts, cli, decision), json !== '')
  },
  dead: answerOperator,
  changes: (parts, { since = '24h', account = '', kind = '', json = '' }) =>
    reportChanges(parts, { since, account, kind, json: json !== '' }),
  sql: ({ clickhouse }, command) => querySql(clickhouse, command),
  ...backupAnswers,
  async 'store adopt'({ store }, { json = '' }) {
    await store.adoptClickhouse()
    if (json !== '') return `${JSON.stringify({ rebuilt: true })}\n`
    return 'The configuration in NATS was rebuilt from ClickHouse.\n'
  },
}

/** Includes the token, which is printed nowhere else. */
const describeMade = ({ accountId, keyId, token }: NewAccount, json: string): string =>
  json === ''
    ? `account: ${accountId}\nkey: ${keyId}\ntoken: ${token}\n`
    : `${JSON.stringify({ account_id: accountId, key_id: keyId, token })}\n`

function describeRights(account: Row, json: string): string {
  const rights = account['rights'] as string[]
  return json === ''
    ? `account: ${account.id}\nrights: ${rights.join(', ') || 'none'}\n`
    : `${JSON.stringify({ account_id: account.id, rights })}\n`
}

/** Runs a query that can't change anything. It needs only the database. */
async function querySql(clickhouse: Clickhouse, command: AdminCommand): Promise<string> {
  const { query = '', format = 'pretty' } = command
  const known = Object.hasOwn(formats, format) ? formats[format] : undefined
  if (known === undefined)
    throw badRequest(`There is no format "${format}": ${Object.keys(formats).join(', ')}.`)
  return clickhouse.text(query, known)
}

/** Commands that need no complete configuration. */
const anytime: readonly string[] = ['sql', 'store adopt']

/** Returns the answer as text for a person. Throws an error whose message is for the operator. */
export function runAdminCommand(parts: StoreParts, command: AdminCommand): Promise<string> {
  const run = Object.hasOwn(commands, command.command) ? commands[command.command] : undefined
  if (run === undefined) throw badRequest(`There is no command "${command.command}".`)
  const { size } = parts.store.view.withheld
  if (size > 0 && !anytime.includes(command.command))
    throw unavailable(`${repairedText(size)} Try again in a few seconds.`)
  return run(parts, command)
}

/** No command changes what decides, so none runs a policy test. */
const noGeography: GeoLookup = { lookup: () => ({}) }

/** Runs a command while no service runs, on a store that is opened for it. */
export async function administerAlone(loaded: Settings, command: AdminCommand): Promise<string> {
  await using release = new ReleaseStack()
  // Awaited here, so that the store stays open until the command is done.
  if (command.command !== 'sql') return await (await openAlone(loaded, release))(command)
  if (loaded.nats.servers === undefined) release.own(lockDataDir(loaded.data.dir))
  return await querySql(release.own(await openDatabase(loaded)), command)
}

/** Opens the store until it is released; the result runs commands on it. */
export async function openAlone(loaded: Settings, release: ReleaseStack): Promise<RunCommand> {
  const context = createRoleContext({ ...loaded, ops: { ...loaded.ops, logLevel: 'error' } }, 'cli')
  let alone = loaded
  if (loaded.nats.servers === undefined) {
    release.own(lockDataDir(loaded.data.dir))
    alone = withLocalNats(loaded, release.own(await openLocalNats(loaded, context.occurrences)), 'api')
  }
  const { host, port, baseUrl } = loaded.api
  const parts = await openStoreParts(
    { ...context, settings: alone },
    { baseUrl: () => baseUrl ?? `http://${host}:${port}`, geo: noGeography },
    release,
  )
  if (parts.loss !== undefined) process.stderr.write(`weir: ${parts.loss}\n`)
  await parts.store.repaired
  return (command) => runAdminCommand(parts, command)
}

type Parts = Pick<StoreParts, 'store' | 'nats' | 'partitions' | 'presenter'>

/**
 * Dead letters for an operator: those of all accounts, and those that belong to none. The command line uses the client
 * of the API, whose requests come here as commands instead of over HTTP.
 */
async function answerOperator(
  { store, nats, partitions, presenter }: Parts,
  { method = '', path = '', query = '{}', body = '{}' }: AdminCommand,
): Promise<string> {
  const letters = new DeadLetters({ nats, ownerOf: ownersIn(store.view) })
  const resender = new DeadLetterResender({
    nats,
    partitions,
    isDestination: isDestinationIn(store.view),
  })
  const { links } = presenter
  const [, , id = '', verb] = path.split('/')
  const given = JSON.parse(query) as Readonly<Record<string, string>>
  const sent = JSON.parse(body) as Readonly<Record<string, unknown>>
  const answers: Readonly<Record<string, () => Promise<unknown>>> = {
    'GET list': () => pageOfLetters(letters, wholeSight, given, links, shownWithOwner),
    'GET groups': () => groupsOfLetters(letters, wholeSight, given),
    'POST resend': () => changeLetters(letters, resender, wholeSight, 'resend', sent),
    'POST drop': () => changeLetters(letters, resender, wholeSight, 'drop', sent),
    'GET one': async () => {
      const letter = await letterCalled(letters, wholeSight, id)
      return { ...wholeLetter(letter, links), ...ownerShown(letter) }
    },
    'POST one': async () =>
      resendLetter(resender, await letterCalled(letters, wholeSight, id), sent, undefined),
    'DELETE one': async () => resender.drop([await letterCalled(letters, wholeSight, id)]),
  }
  const isMany = ['groups', 'resend', 'drop'].includes(id) && verb === undefined
  const answer = answers[`${method} ${id === '' ? 'list' : isMany ? id : 'one'}`]
  if (answer === undefined) throw badRequest(`There is no command for dead letters "${method} ${path}".`)
  return `${JSON.stringify((await answer()) ?? null)}\n`
}

const ownerShown = ({ owner }: Letter) => ({ account_id: owner ?? null })

const shownWithOwner = (letter: Letter, links: Pick<Links, 'uri'>) => ({
  ...shownLetter(letter, links),
  ...ownerShown(letter),
})

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

/** The changes of all accounts or of one as text, for the command line: newest first. */
async function reportChanges(parts: StoreParts, options: ReportOptions): Promise<string> {
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
  const { by_promotion_of: promoted } = change
  const cause = promoted === null || promoted === id ? [] : [`by the promotion of ${promoted}`]
  const counts = rules === null ? [] : [`rules +${rules.added} ~${rules.updated} -${rules.removed}`]
  const columns = [changed_at, account_id, `v${version}`, verb, kind, id, author, client_address ?? '-']
  return [...columns, operation_id ?? '-', [...counts, ...names, ...cause].join(', ')].join('  ').trimEnd()
}
