/** A file of policies and their tests: YAML, or JSON, which is YAML. */
import { EntryFaults } from '../../../ground/core/entry-faults.js'
import { badRequest, WeirError } from '../../../ground/core/errors.js'
import { policyTestsPerAccountMax } from '../../../ground/core/limits.js'
import { readYaml, type TextFault } from '../../../ground/core/text/yaml.js'
import { completeExpectation, type Expectation } from '../../../words/resource/fields/expectation.js'
import { type GivenRecord, wrongGiven } from '../../../words/resource/fields/given-record.js'
import { type Configuration, faultsOf, shownOnly } from './configuration.js'
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
const nullableText = optional(text(nameCharsMax), null)

const given: Read<GivenRecord> = (value, place, faults) => {
  const record = anyMap(value, place, faults)
  if (record === undefined) return undefined
  const complaint = wrongGiven(record)
  if (complaint === undefined) return record
  faults.add(place, badRequest(`"${place}" is refused: ${complaint}.`))
  return undefined
}

const expectedDecision = {
  decision: oneOf('allow', 'block', 'deny'),
  decided_by: optional(
    objectOf({
      type: optional(oneOf('restriction', 'ip_restriction', 'traffic_policy', 'none'), null),
      id: nullableText,
      name: nullableText,
      ip_policy_id: nullableText,
      rule_id: nullableText,
      cidr: nullableText,
    }),
    null,
  ),
}

const wholeExpectation = objectOf({ ...expectedDecision, shadow: optional(objectOf(expectedDecision), null) })

const expect: Read<Expectation> = (value, place, faults) => {
  const found = wholeExpectation(value, place, faults)
  return found && completeExpectation(found)
}

/** As a file calls them, or as the API shows them. */
const shownTest = objectOf({
  ...shownOnly,
  id: nullableText,
  name: nullableText,
  description: nullableText,
  given,
  expect,
})

const test: Read<FileTest> = (value, place, faults) => {
  const read = shownTest(value, place, faults)
  if (read === undefined) return undefined
  const name = read.name ?? (read.description || read.id)
  if (name !== null) return { name, given: read.given, expect: read.expect }
  faults.add(place, badRequest(`"${place}" needs a "name".`))
  return undefined
}

export const readTests = optional(listOf(test, policyTestsPerAccountMax), [])

/** Sections of a whole account in a file (`weir export`) that no decision depends on. */
export const undecidingSections = [
  'backends',
  'certificate_authorities',
  'tls_certificates',
  'reserved_domains',
  'reserved_addrs',
  'ssh_certificate_authorities',
  'ssh_host_certificates',
  'ssh_user_certificates',
  'ssh_credentials',
  'credentials',
  'bouncers',
  'event_destinations',
  'event_subscriptions',
  'keys',
] as const

/** Reads a file; every fault has its line and column. */
export function readPolicyFile(source: string): PolicyFileResult {
  const read = readYaml(source, 'The file', policyFileBytesMax)
  if (!read.ok) return read
  const value = read.value ?? {}
  const faults = new EntryFaults()
  let configuration: Configuration | undefined
  try {
    configuration = readConfiguration(isObject(value) ? decidingIn(value) : value)
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    for (const fault of faultsOf(error)) faults.add(fault.place, fault.error)
  }
  const tests = isObject(value)
    ? (['tests', 'policy_tests'] as const).flatMap((name) => readTests(value[name], name, faults) ?? [])
    : undefined
  const { error } = faults
  if (error === undefined) return { ok: true, file: { configuration: configuration!, tests: tests! } }
  return {
    ok: false,
    faults: faultsOf(error).map(({ place, error: { message } }) => read.faultAt(place, message)),
  }
}

const decidingIn = (file: object): object =>
  Object.fromEntries(
    Object.entries(file).filter(([name]) => !(undecidingSections as readonly string[]).includes(name)),
  )
