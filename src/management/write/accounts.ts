/** Accounts: created from the command line; the first one at the first start. */
import { isoSeconds, monotonicMs, now, sleep, startOfSecond } from '../../ground/core/clock.js'
import { badRequest, notFound, shown, WeirError } from '../../ground/core/errors.js'
import { hashToken, newId } from '../../ground/core/ids.js'
import { accountNameBytesMax } from '../../ground/core/limits.js'
import { durationMs, durationText } from '../../ground/core/text/units.js'
import { account } from '../../words/resource/account.js'
import { apiKeyLifetimeMaxMs, expiryOf, isExpired, rightsOf } from '../../words/resource/api-key.js'
import { accountRights, type Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { KeyUses } from '../access/key-uses.js'
import { createValues } from '../exchange/body/input.js'
import { unchanged } from '../store/change/plan.js'
import type { Store } from '../store/store.js'
import { newToken } from './derive-tools.js'
import type { Writes } from './writes.js'

/** The command line as the author of a change. */
export const cli = { source: 'CLI', credentialId: null } as const

export interface NewAccount {
  readonly accountId: string
  readonly keyId: string
  /** Shown only once. */
  readonly token: string
}

/** Creates an account and its first key; undefined if the account exists. */
export async function createAccount(
  store: Store,
  writes: Writes,
  name: string,
  { id = newId('ac_'), token = newToken() }: { id?: string; token?: string } = {},
): Promise<NewAccount | undefined> {
  if (name.trim() === '' || Buffer.byteLength(name) > accountNameBytesMax) {
    throw badRequest(`An account's name must have 1 to ${accountNameBytesMax} bytes.`)
  }
  const at = now()
  const caller = { accountId: id, accountName: name, principal: cli, address: undefined }
  const first = { description: 'First key of the account.' }
  const key = await writes.create(caller, resourceOf('api_key'), first, at)
  return store.commit(id, cli, (state, version, changedAt) => {
    if (state.rows.get('account')?.has(id)) return unchanged(undefined)
    const draft = key(state, version, changedAt)
    const row: Row = {
      id,
      account_id: id,
      version,
      created_at: startOfSecond(at),
      name,
      rights: [],
    }
    const keyPuts = draft.puts.map((put) => ({ ...put, row: { ...put.row, token_hash: hashToken(token) } }))
    const result = { accountId: id, keyId: draft.result.row.id, token }
    return { ...draft, puts: [{ kind: account.kind, row, isNew: true }, ...keyPuts], result }
  })
}

export const grantRight = (store: Store, accountId: string, right: string): Promise<Row> =>
  changeRights(store, accountId, right, (present) => new Set([...present, right]))

/** Revoking a right that the account does not have changes nothing. */
export const revokeRight = (store: Store, accountId: string, right: string): Promise<Row> =>
  changeRights(store, accountId, right, (present) => present.filter((each) => each !== right))

async function changeRights(
  store: Store,
  accountId: string,
  right: string,
  change: (present: readonly string[]) => Iterable<string>,
): Promise<Row> {
  if (!accountRights.some((known) => known === right)) {
    throw badRequest(`There is no right ${shown(right)}: the rights are ${accountRights.join(', ')}.`)
  }
  return store.commit(accountId, cli, (state, version) => {
    const present = accountOf(state, accountId)
    const before = present['rights'] as string[]
    const rights = [...change(before)]
    const row = { ...present, rights, version }
    const isSame = rights.length === before.length
    const puts = isSame ? [] : [{ kind: account.kind, row, isNew: false }]
    return { puts, removals: [], audits: [], result: row }
  })
}

function accountOf(state: ViewState, accountId: string): Row {
  const row = state.rows.get('account')?.get(accountId)
  if (row === undefined) throw notFound(`There is no account ${shown(accountId)}.`)
  return row
}

/** A key as an operator asks for it. Empty rights, as of an unset variable of a shell, are not all rights. */
interface KeyRequest {
  readonly description: string
  /** Separated by commas; all if undefined. */
  readonly rights: string | undefined
  /** `90d`; never if undefined. */
  readonly expiresIn: string | undefined
}

/** Creates another key, for an account whose last key was lost. */
export async function createKey(
  store: Store,
  writes: Writes,
  accountId: string,
  { description, rights, expiresIn }: KeyRequest,
): Promise<NewAccount> {
  const caller = { accountId, principal: cli, address: undefined }
  const resource = resourceOf('api_key')
  const at = now()
  const values = createValues(resource, {
    description,
    rights: rights?.split(',').flatMap((right) => right.trim() || []),
    expires_at: expiresIn === undefined ? null : isoSeconds(at + lifetimeMs(expiresIn)),
  })
  const plan = await writes.create(caller, resource, values, at)
  const { row, once } = await store.commit(accountId, cli, (state, ...planning) => {
    accountOf(state, accountId)
    return plan(state, ...planning)
  })
  return { accountId, keyId: row.id, token: String(once['token']) }
}

function lifetimeMs(text: string): number {
  const ms = durationMs(text)
  if (ms !== undefined && ms <= apiKeyLifetimeMaxMs) return ms
  throw badRequest(
    `A key can't expire in ${shown(text)}: a time such as 12h or 90d is needed, at most ${durationText(apiKeyLifetimeMaxMs)}.`,
  )
}

type KeyStore = Pick<Store, 'view' | 'keys'>
type LastUse = KeyUses['lastUse']

/** A line per account, oldest first: id, creation, number of keys, rights, name. */
export function listAccounts(store: KeyStore, json: boolean): string {
  const lines = oldestFirst(store.view.state, 'account').map(({ id, name, rights, ...row }) => {
    const created_at = isoSeconds(row.created_at)
    const keys = keysOf(store, id).length
    if (json) return `${JSON.stringify({ id, created_at, keys, rights, name })}\n`
    const count = `${keys} ${keys === 1 ? 'key' : 'keys'}`
    const rightsText = (rights as string[]).join(',') || '-'
    return `${id}  ${created_at}  ${count.padEnd(8)}  ${rightsText.padEnd(13)}  ${name}\n`
  })
  return lines.join('')
}

/** A line per key of an account, or of all accounts, oldest first: its rights, end, last use and description. */
export function listKeys(store: KeyStore, lastUse: LastUse, accountId: string, json: boolean): string {
  const { state } = store.view
  if (accountId !== '') accountOf(state, accountId)
  const accounts = accountId === '' ? oldestFirst(state, 'account').map(({ id }) => id) : [accountId]
  return accounts
    .flatMap((id) => keysOf(store, id))
    .map((row) => `${json ? keyJson(row, lastUse) : keyLine(row, lastUse, now())}\n`)
    .join('')
}

function keyJson(row: Row, lastUse: LastUse): string {
  const { id, account_id, description = '' } = row
  const use = lastUse(id)
  return JSON.stringify({
    id,
    account_id,
    created_at: isoSeconds(row.created_at),
    rights: rightsOf(row) ?? null,
    expires_at: expiryOf(row) ?? null,
    last_used: use === undefined ? null : { at: isoSeconds(use.at), from: use.from },
    description,
  })
}

function keyLine(row: Row, lastUse: LastUse, nowMs: number): string {
  const { id, account_id, created_at } = row
  const rights = (rightsOf(row) ?? ['all']).join(',')
  const end = `${isExpired(row, nowMs) ? 'expired' : 'expires'} ${expiryOf(row) ?? 'never'}`
  const use = lastUse(id)
  const used = use === undefined ? 'never used' : `used ${isoSeconds(use.at)} from ${use.from}`
  return [
    id,
    account_id,
    isoSeconds(created_at),
    rights.padEnd(rightsCharsMax),
    end.padEnd(expiryChars),
    used.padEnd(useChars),
    row['description'] ?? '',
  ]
    .join('  ')
    .trimEnd()
}

const rightsCharsMax = 'read,write,decide'.length
const expiryChars = 'expires 2026-11-20T10:00:00Z'.length
const useChars = 'used 2026-11-20T10:00:00Z from 203.0.113.100'.length

const keysOf = (store: KeyStore, accountId: string): Row[] =>
  oldestFirst(store.view.state, 'api_key').filter(
    (row) => row.account_id === accountId && store.keys.isKnown(row),
  )

export const oldestFirst = (state: ViewState, kind: string): Row[] =>
  [...(state.rows.get(kind)?.values() ?? [])].toSorted((one, other) => (one.id < other.id ? -1 : 1))

const bootstrapPatienceMs = 60_000
const bootstrapPauseMs = 500

/**
 * Creates the first account of an empty store, once, even if several processes start at the same time: its id is derived
 * from the deployment's. Resolves with the key if this process created it. Waits for a store that is briefly unavailable.
 */
export async function bootstrapAccount(
  store: Store,
  writes: Writes,
  token: string = newToken(),
): Promise<NewAccount | undefined> {
  if ((store.view.state.rows.get('account')?.size ?? 0) > 0) return undefined
  const id = `ac_${store.deploymentId.replace(/^\w+_/, '')}`
  const deadline = monotonicMs() + bootstrapPatienceMs
  for (let tries = 1; ; tries += 1) {
    try {
      const made = await createAccount(store, writes, 'default', { id, token })
      return made === undefined && tries > 1 ? createdBefore(store.view.state, id, token) : made
    } catch (error) {
      const isAway = error instanceof WeirError && error.code === 'ERR_UNAVAILABLE'
      if (!isAway || monotonicMs() > deadline) throw error
      await sleep(bootstrapPauseMs)
    }
  }
}

/** The account's key with this token: an earlier try created it, and its answer was lost. */
function createdBefore(state: ViewState, accountId: string, token: string): NewAccount | undefined {
  const hash = hashToken(token)
  const keys = [...(state.rows.get('api_key')?.values() ?? [])]
  const key = keys.find((row) => row.account_id === accountId && row['token_hash'] === hash)
  return key === undefined ? undefined : { accountId, keyId: key.id, token }
}
