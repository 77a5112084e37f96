/** The value of a claim: who holds it. */
import { jsonOf } from '../../../ground/core/bytes.js'
import { isObject } from '../../../ground/core/json-object.js'

export interface ClaimHolder {
  readonly account_id: string
  /** The resource. */
  readonly id: string
  /** Version of the account's change that the claim was taken for. */
  readonly version: number
}

/** Throws if the value is damaged. */
export function decodeClaim(value: Uint8Array): ClaimHolder {
  const holder = jsonOf<ClaimHolder>(value)
  const isWhole =
    isObject(holder) &&
    [holder.account_id, holder.id].every((text) => typeof text === 'string') &&
    Number.isSafeInteger(holder.version)
  if (isWhole) return holder
  throw new Error('The value names no holder of a claim.')
}

export const isSame = (one: ClaimHolder, other: ClaimHolder): boolean =>
  one.account_id === other.account_id && one.id === other.id
