/** Reads YAML, and JSON, which is YAML, and says where in the text a value is. The only file that uses the parser. */
import { isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument, stringify } from 'yaml'
import { utf8Length } from '../bytes.js'
import { type FaultPlace, messageOf } from '../errors.js'

/** How often aliases may repeat what they name, so that a short text is no huge value. */
const aliasesMax = 100

/** A problem with a text, and its place. */
export type TextFault = FaultPlace

type YamlResult =
  | {
      readonly ok: true
      readonly value: unknown
      /** A fault at a place such as `tests[0].name`, or at the nearest one that holds it. */
      readonly faultAt: (place: string, msg: string) => TextFault
    }
  | { readonly ok: false; readonly faults: readonly TextFault[] }

const start = { place: '', offset: 0, length: 0, line: 1, column: 1 }

const options = { schema: 'core', prettyErrors: false, keepSourceTokens: false } as const

/** The value of a text. `what`: what it is called in messages, such as `The file`. */
export function readYaml(source: string, what: string, bytesMax: number): YamlResult {
  const bytes = utf8Length(source)
  if (bytes > bytesMax) return refused(`${what} has ${bytes} bytes: at most ${bytesMax} are allowed.`)
  const lines = new LineCounter()
  const at = ([from, to]: readonly [number, number], place: string, msg: string): TextFault => {
    const { line, col } = lines.linePos(from)
    return { place, offset: from, length: to - from, line, column: col, msg }
  }
  try {
    const document = parseDocument(source, { ...options, lineCounter: lines })
    const [error] = document.errors
    // The message of the parser is for programmers.
    if (error?.code === 'MULTIPLE_DOCS')
      return {
        ok: false,
        faults: [at(error.pos, '', `${what} has more than one document (---): only one is allowed.`)],
      }
    if (error !== undefined)
      return { ok: false, faults: [at(error.pos, '', `It is not YAML: ${sentence(error.message)}`)] }
    return {
      ok: true,
      value: document.toJS({ maxAliasCount: aliasesMax }),
      faultAt: (place, msg) => at(rangeOf(document.contents, place), place, msg),
    }
  } catch (error) {
    // The parser calls itself for each level.
    if (error instanceof RangeError) return refused('It is nested too deeply.')
    // Aliases without an anchor, or too many of them.
    if (error instanceof ReferenceError) return refused(sentence(messageOf(error)))
    throw error
  }
}

const refused = (msg: string): YamlResult => ({ ok: false, faults: [{ ...start, msg }] })

const sentence = (text: string): string => text.replace(/\.?$/, '.')

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

/**
 * The text with one more entry in one of its lists, which is made if it is missing; all else, comments too, stays. Undefined
 * if the text is not YAML, or has something else in place of the list.
 */
export function withEntry(source: string, list: string, entry: object): string | undefined {
  const document = parseDocument(source, options)
  if (document.errors.length > 0) return undefined
  const { contents } = document
  if (contents !== null && !isMap(contents) && !(isScalar(contents) && contents.value === null))
    return undefined
  if (!isMap(contents)) document.contents = document.createNode({}) as unknown as typeof contents
  const entries = document.get(list, true)
  if (isSeq(entries)) entries.add(document.createNode(entry))
  else if (entries === undefined || (isScalar(entries) && entries.value === null))
    document.set(list, document.createNode([entry]))
  else return undefined
  return document.toString({ lineWidth: 0 })
}

/** A value as YAML: long texts as blocks, and nothing folded. */
export const writeYaml = (value: unknown): string =>
  stringify(value, { schema: 'core', lineWidth: 0, aliasDuplicateObjects: false })
