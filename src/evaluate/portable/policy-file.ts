/** A file of policies and their tests: YAML, or JSON, which is YAML. The only file that uses the parser. */
import { isMap, isScalar, LineCounter, type ParsedNode, parseDocument } from 'yaml'
import { utf8Length } from '../../core/bytes.js'
import { EntryFaults } from '../../core/entry-faults.js'
import { badRequest, type FaultPlace, messageOf, shown, WeirError } from '../../core/errors.js'
import { policyTestsPerAccountMax } from '../../core/limits.js'
import { type GivenRecord, wrongGiven } from '../../resource/fields/given-record.js'
import type { Expectation } from '../../resource/policy-test.js'
import { type Configuration, faultsOf } from './configuration.js'
import { anyMap, isMap as isObject, listOf, objectOf, oneOf, optional, type Read, text } from './reading.js'
import { readConfiguration } from './relations.js'

/** Enough for a hundred thousand rules. */
export const policyFileBytesMax = 8 * 1024 * 1024

/** How often aliases may repeat what they name, so that a short text is no huge value. */
const aliasesMax = 100

export interface FileTest {
  readonly name: string
  readonly given: GivenRecord
  readonly expect: Expectation
}

export interface PolicyFile {
  readonly configuration: Configuration
  readonly tests: readonly FileTest[]
}

/** What is wrong with a file, and where. */
type FileFault = FaultPlace

type PolicyFileResult =
  | { readonly ok: true; readonly file: PolicyFile }
  | { readonly ok: false; readonly faults: readonly FileFault[] }

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
  const lines = new LineCounter()
  const at = (offset: number, length: number, place: string, msg: string): FileFault => {
    const { line, col } = lines.linePos(offset)
    return { place, offset, length, line, column: col, msg }
  }
  const bytes = utf8Length(source)
  if (bytes > policyFileBytesMax)
    return {
      ok: false,
      faults: [{ ...start, msg: `The file has ${bytes} bytes: at most ${policyFileBytesMax} are allowed.` }],
    }
  try {
    const document = parseDocument(source, {
      schema: 'core',
      lineCounter: lines,
      prettyErrors: false,
      keepSourceTokens: false,
    })
    const [error] = document.errors
    if (error !== undefined)
      return {
        ok: false,
        faults: [
          at(
            error.pos[0],
            error.pos[1] - error.pos[0],
            '',
            `It is not YAML: ${error.message.replace(/\.?$/, '.')}`,
          ),
        ],
      }
    const value: unknown = document.toJS({ maxAliasCount: aliasesMax })
    return checked(value ?? {}, (place) => rangeOf(document.contents, place), at)
  } catch (error) {
    // The parser calls itself for each level.
    if (error instanceof RangeError)
      return { ok: false, faults: [{ ...start, msg: 'It is nested too deeply.' }] }
    // Aliases without an anchor, or too many of them.
    if (error instanceof ReferenceError)
      return { ok: false, faults: [{ ...start, msg: `${messageOf(error).replace(/\.?$/, '.')}` }] }
    throw error
  }
}

const start = { place: '', offset: 0, length: 0, line: 1, column: 1 }

function checked(
  value: unknown,
  range: (place: string) => readonly [number, number],
  at: (offset: number, length: number, place: string, msg: string) => FileFault,
): PolicyFileResult {
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
    faults: faultsOf(error).map(({ place, error: { message } }) => {
      const [from, to] = range(place)
      return at(from, to - from, place, message)
    }),
  }
}

/** Where the value of a place is in the text, or the nearest one that holds it. */
function rangeOf(root: ParsedNode | null, place: string): readonly [number, number] {
  let node: unknown = root
  let found: readonly [number, number] = [0, 0]
  for (const [, index, name] of place.matchAll(/\[(\d+)\]|([^.[\]]+)/g)) {
    if (!hasMembers(node)) break
    node = node.get(index === undefined ? name! : Number(index), true)
    const { range } = (node ?? {}) as { range?: readonly number[] | null }
    if (range == null) break
    found = [range[0]!, isMap(node) || isScalar(node) ? range[1]! : range[0]!]
  }
  return found
}

const hasMembers = (node: unknown): node is { get(key: unknown, keepScalar: true): unknown } =>
  typeof node === 'object' && node !== null && 'get' in node
