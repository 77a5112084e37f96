/** A file of policies and their tests: YAML, or JSON, which is YAML. */
import { EntryFaults } from '../../core/entry-faults.js'
import { badRequest, shown, WeirError } from '../../core/errors.js'
import { policyTestsPerAccountMax } from '../../core/limits.js'
import { readYaml, type TextFault } from '../../core/text/yaml.js'
import { type GivenRecord, wrongGiven } from '../../resource/fields/given-record.js'
import type { Expectation } from '../../resource/policy-test.js'
import { type Configuration, faultsOf } from './configuration.js'
import { anyMap, isMap as isObject, listOf, objectOf, oneOf, optional, type Read, text } from './reading.js'
import { readConfiguration } from './relations.js'

/** Enough for a hundred thousand rules. */
export const policyFileBytesMax = 8 * 1024 * 1024

export interface FileTest {
  readonly name: string
  readonly given: GivenRecord
  readonly expect: Expectation
}

export interface PolicyFile {
  readonly configuration: Configuration
  readonly tests: readonly FileTest[]
}

type PolicyFileResult =
  | { readonly ok: true; readonly file: PolicyFile }
  | { readonly ok: false; readonly faults: readonly TextFault[] }

const nameCharsMax = 255
const nullableText = optional(text(nameCharsMax), undefined)

const given: Read<GivenRecord> = (value, place, faults) => {
  const record = anyMap(value, place, faults)
  if (record === undefined) return undefined
  const complaint = wrongGiven(record)
  if (complaint === undefined) return record
  faults.add(place, badRequest(`"${place}" is refused: ${complaint}.`))
  return undefined
}

/** Null where a member may be left out is `undefined` here; `objectOf` takes that for a fault, so it is read apart. */
const expect: Read<Expectation> = (value, place, faults) => {
  const found = objectOf({ decision: oneOf('allow', 'block', 'deny'), decided_by: optional(anyMap, null) })(
    value,
    place,
    faults,
  )
  if (found === undefined) return undefined
  const { decision, decided_by } = found
  const part: Record<string, string> = {}
  for (const [name, member] of Object.entries(decided_by ?? {})) {
    const read = partMembers[name]
    const at = `${place}.decided_by.${name}`
    if (read === undefined)
      faults.add(
        at,
        badRequest(
          `"${place}.decided_by" has no member ${shown(name)}: supported are ${Object.keys(partMembers).join(', ')}.`,
        ),
      )
    else {
      const known = read(member, at, faults)
      if (known !== undefined) part[name] = known
    }
  }
  return { decision, ...(Object.keys(part).length === 0 ? {} : { decided_by: part }) }
}

const partMembers: Readonly<Record<string, Read<string | undefined>>> = {
  type: optional(oneOf('restriction', 'ip_restriction', 'traffic_policy', 'none'), undefined),
  id: nullableText,
  name: nullableText,
  ip_policy_id: nullableText,
  rule_id: nullableText,
  cidr: nullableText,
}

const readTests = optional(
  listOf(objectOf({ name: text(nameCharsMax), given, expect }), policyTestsPerAccountMax),
  [],
)

/** Reads a file; every fault has its line and column. */
export function readPolicyFile(source: string): PolicyFileResult {
  const read = readYaml(source, 'The file', policyFileBytesMax)
  if (!read.ok) return read
  const value = read.value ?? {}
  const faults = new EntryFaults()
  let configuration: Configuration | undefined
  try {
    configuration = readConfiguration(value)
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    for (const fault of faultsOf(error)) faults.add(fault.place, fault.error)
  }
  const tests = isObject(value) ? readTests(value['tests'], 'tests', faults) : undefined
  const { error } = faults
  if (error === undefined) return { ok: true, file: { configuration: configuration!, tests: tests! } }
  return {
    ok: false,
    faults: faultsOf(error).map(({ place, error: { message } }) => read.faultAt(place, message)),
  }
}
