/** Sealed values of rows, stored in their own bucket, so that the bucket every process reads holds no secret. */
import { unavailable } from '../../ground/core/errors.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import type { Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import { secretsIn } from '../../words/view/entry-values.js'
import { type SecretsEntry, secretKey } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
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

/** Fills in sealed values that the puts leave out, from the rows they replace. */
export const withKeptSecrets = (secrets: Bucket, puts: readonly Put[], state: ViewState): Promise<Put[]> =>
  Promise.all(puts.map((put) => withKept(secrets, put, state)))

async function withKept(secrets: Bucket, put: Put, state: ViewState): Promise<Put> {
  const { kind, row, isNew } = put
  const names = isNew ? [] : sealedFields(kind).filter((name) => row[name] === undefined)
  if (names.length === 0) return put
  const kept = await readSecrets(secrets, kind, row.id)
  if (kept?.version !== state.rows.get(kind)?.get(row.id)?.version || kept === undefined) {
    throw unavailable('The secret of this resource has not arrived in NATS yet.')
  }
  const values = Object.fromEntries(names.map((name) => [name, kept.sealed[name] ?? null]))
  return { ...put, row: { ...row, ...values } }
}
