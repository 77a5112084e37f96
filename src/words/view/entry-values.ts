/** Values of the configuration's entries, as far as a view depends on their form: anything else there is damaged. */
import { jsonOf } from '../../ground/core/bytes.js'
import { isObject } from '../../ground/core/json-object.js'
import type { BucketEntry } from '../../ground/nats/bucket.js'
import { metaKey, ruleKind, rulesOf, type SecretsEntry } from './keys.js'
import { isRowOf } from './row-forms.js'

type Check = (value: Readonly<Record<string, unknown>>, kind: string, id: string) => boolean

const isCount = (value: unknown): boolean => Number.isSafeInteger(value)

const checks: Readonly<Record<string, Check>> = {
  [metaKey]: ({ deployment_id, key_fingerprint }) =>
    typeof deployment_id === 'string' && typeof key_fingerprint === 'string',
  state: ({ version, stored, counts }) =>
    isCount(version) && isCount(stored) && isObject(counts) && Object.values(counts).every(isCount),
  row: (row, kind, id) => isRowOf(kind, row) && row['id'] === id,
  rules: ({ account_id, rules }) =>
    typeof account_id === 'string' && Array.isArray(rules) && rules.every((rule) => isRowOf(ruleKind, rule)),
}

/** The value of an entry; undefined for a deletion, and of a key that no view reads. Throws if it is damaged. */
export function checkedValue({ key, value }: BucketEntry): unknown {
  const [space = '', kind = '', id = ''] = key.split('.')
  const check = Object.hasOwn(checks, space) ? checks[space] : undefined
  if (value === undefined || check === undefined) return undefined
  const read = jsonOf(value)
  if (isObject(read) && check(read, kind, id)) return read
  throw new Error('The value has not the form of its key.')
}

/** Throws if the entry is damaged. */
export function secretsIn(value: Uint8Array): SecretsEntry {
  const read = jsonOf<SecretsEntry>(value)
  if (
    isObject(read) &&
    typeof read.version === 'number' &&
    isObject(read.sealed) &&
    Object.values(read.sealed).every((each) => typeof each === 'string')
  )
    return read
  throw new Error('The value is no entry of sealed values.')
}

/** The keys of a policy's rules that are damaged. */
export const damagedRuleKeys = (
  { damaged }: { readonly damaged: ReadonlySet<string> },
  policyId: string,
): string[] => [...damaged].filter((key) => key.startsWith(rulesOf(policyId)))
