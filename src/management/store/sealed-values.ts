/** Sealed values of rows, stored in their own bucket, so that the bucket every process reads holds no secret. */
import { unavailable } from '../../ground/core/errors.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import type { Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import { secretsIn } from '../../words/view/entry-values.js'
import { type SecretsEntry, secretKey } from '../../words/view/keys.js'
import { ViewState } from '../../words/view/view-state.js'
import type { Put } from './change/change.js'

export const sealedFields = (kind: string): string[] =>
  Object.entries(resourceOf(kind).fields).flatMap(([name, { sealed }]) => (sealed ? [name] : []))

/** Splits a row into its open part and its sealed values. */
export function splitSecrets(kind: string, row: Row): { open: Row; secrets: SecretsEntry | undefined } {
  const names = sealedFields(kind)
  if (names.length === 0) return { open: row, secrets: undefined }
  const sealed: Record<string, string> = {}
  const open: Record<string, unknown> = { ...row }
  for (const name of names) {
    const value = row[name]
    if (typeof value === 'string') sealed[name] = value
    delete open[name]
  }
  return { open: open as Row, secrets: { account_id: row.account_id, version: row.version, sealed } }
}

export async function readSecrets(
  secrets: Bucket,
  kind: string,
  id: string,
): Promise<SecretsEntry | undefined> {
  return secrets.decoded(await secrets.get(secretKey(kind, id)), secretsIn)
}

/** A row that was planned before, and is to be committed together; undefined for one that is not. */
export type PlannedBefore = (id: string) => Row | undefined

/** Fills in sealed values that the puts leave out, from the rows they replace. */
export const withKeptSecrets = (
  secrets: Bucket,
  puts: readonly Put[],
  state: ViewState,
  before: PlannedBefore = () => undefined,
): Promise<Put[]> => Promise.all(puts.map((put) => withKept(secrets, put, before(put.row.id) ?? state)))

/** `from`: the state that has the row which is replaced, or that row with its sealed values. */
async function withKept(secrets: Bucket, put: Put, from: ViewState | Row): Promise<Put> {
  const { kind, row, isNew } = put
  const names = isNew ? [] : sealedFields(kind).filter((name) => row[name] === undefined)
  if (names.length === 0) return put
  const sealed =
    from instanceof ViewState ? await keptIn(secrets, kind, row.id, from) : (from as Record<string, unknown>)
  const values = Object.fromEntries(names.map((name) => [name, sealed[name] ?? null]))
  return { ...put, row: { ...row, ...values } }
}

async function keptIn(
  secrets: Bucket,
  kind: string,
  id: string,
  state: ViewState,
): Promise<Readonly<Record<string, unknown>>> {
  const kept = await readSecrets(secrets, kind, id)
  if (kept === undefined || kept.version !== state.rows.get(kind)?.get(id)?.version)
    throw unavailable('The secret of this resource has not arrived in NATS yet.')
  return kept.sealed
}
