/**
 * Writes a regular expression for all records that differ from one in their values only, and a function that makes the
 * record from a match. The expression accepts nothing but valid JSON: what stands between values is literal, and values
 * have the grammar of RFC 8259. At each character there is one way to go on, so that its time is linear in the text.
 *
 * Members that the schema names match only with their usual values: strings without escapes, integers within their bounds
 * and of at most 15 digits, times in UTC. So what matches is valid, but for addresses and the lengths of texts. A text with
 * other values does not match, and JSON.parse reads it.
 */
import { type DottedTree, treeOfDotted } from '../../ground/core/text/dotted.js'
import { type RecordField, type RecordFieldType, recordFields } from './record-fields.js'
import type { RecordType, TrafficRecord } from './traffic-record.js'

export interface RecordPattern {
  readonly expression: RegExp
  /** Makes the record of a match; it has the members that the schema names and the text has. */
  readonly recordOf: (match: RegExpExecArray) => TrafficRecord
}

/** The bounds of a pattern; the code of one takes some kilobytes. */
const tokensMax = 1_000
const sourceCharsMax = 10_000

/** JavaScript that reads a value from `match`. */
type Script = string

/** A string without escapes has its value between the quotes. */
const plainChar = '[^"\\\\\\x00-\\x1f]'
const plainChars = `${plainChar}*`
const anyString = `"${plainChars}(?:\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4})${plainChars})*"`
const number = '-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?'
const anyScalar = `(?:${anyString}|${number}|true|false|null)`

/** Spaces only follow something, so that there is one way to match them. */
const spaces = '[ \\t\\r]*'
const followed = (token: string): string => token + spaces
const listOf = (item: string): string => `(?:${item}(?:${followed(',')}${item})*)?`
const stringList = `${followed('\\[')}${listOf(followed(anyString))}${followed('\\]')}`
const headers = `${followed('\\{')}${listOf(`${followed(anyString)}${followed(':')}${stringList}`)}\\}`

interface ValueForm {
  /** Has one group. */
  readonly pattern: string
  /** Reads the text that the group matched. */
  readonly read: (found: Script) => Script
}

const text: ValueForm = { pattern: `"(${plainChars})"`, read: (found) => found }
const id: ValueForm = { pattern: `"(${plainChar}+)"`, read: (found) => found }
/** At most 15 digits are exact, and read sooner than by JavaScript's own function. */
const integer = (pattern: string): ValueForm => ({ pattern, read: (found) => `integerOf(${found})` })
/** 0 to 65535, with one way to go on at each digit. */
const portNumber =
  '0|[1-5][0-9]{0,4}|[7-9][0-9]{0,3}|6(?:[0-4][0-9]{0,3}|[6-9][0-9]{0,2}|5(?:[0-4][0-9]{0,2}|[6-9][0-9]?|5(?:[0-2][0-9]?|3[0-5]?|[4-9])?)?)?'
const day = '(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31'
/** Times in UTC that need no further check; others have no pattern. */
const timestamp: ValueForm = {
  pattern: `"([0-9]{4}-(?:${day})T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?Z)"`,
  read: (found) => found,
}

const forms: Readonly<Record<RecordFieldType, ValueForm>> = {
  text,
  id,
  address: text,
  timestamp,
  port: integer(`(${portNumber})`),
  count: integer('(0|[1-9][0-9]{0,14})'),
  int64: integer('(0|-?[1-9][0-9]{0,14})'),
  int32: integer('(0|-?[1-9][0-9]{0,8})'),
  bool: { pattern: '(true|false)', read: (found) => `${found} === 'true'` },
  headers: { pattern: `(${headers})`, read: (found) => `JSON.parse(${found})` },
}

/** A member whose text is always the same. */
interface Constant {
  readonly constant: string
}

type Member = RecordField | Constant
type Members = DottedTree<Member>

const membersOf = (type: RecordType): Members => {
  const named: [string, Member][] = Object.entries<RecordField>(recordFields[type])
  return treeOfDotted<Member>([['type', { constant: JSON.stringify(type) }], ...named])
}

const membersByType: Readonly<Record<RecordType, Members>> = {
  tcp_connection: membersOf('tcp_connection'),
  http_request: membersOf('http_request'),
}

const noMembers: Members = new Map()

/** The pattern of a valid record; undefined if there is none, or it would be too large. */
export function patternOf(record: string, type: RecordType): RecordPattern | undefined {
  const writer = new PatternWriter(record)
  const script = writer.write(membersByType[type])
  if (script === undefined) return undefined
  try {
    // The script is put together from texts that stand in this room, and numbers; nothing of it comes from the record.
    const recordOf = new Function('integerOf', `return (match) => (${script})`)(integerOf)
    return { expression: new RegExp(`^${writer.source}$`), recordOf }
  } catch (error) {
    // Node runs with --disallow-code-generation-from-strings.
    if (error instanceof EvalError) return undefined
    throw error
  }
}

const zero = 0x30
const minus = 0x2d

/** The number of a text that an integer's pattern matched. */
function integerOf(text: string): number {
  const isNegative = text.charCodeAt(0) === minus
  let number = 0
  for (let index = isNegative ? 1 : 0; index < text.length; index += 1)
    number = number * 10 + text.charCodeAt(index) - zero
  return isNegative ? -number : number
}

/** Why there is no pattern. Inside of this file only. */
class NoPattern extends Error {}

const tokens = /([ \t\r]*)([{}[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[-+.\w]+|$)/y

const literally = (chars: string): string => chars.replaceAll(/[^\w" ,:]/g, (char) => `\\u${hex(char)}`)
const hex = (char: string): string => char.charCodeAt(0).toString(16).padStart(4, '0')

/** Follows a text of valid JSON, and writes what matches it and its like. */
class PatternWriter {
  source = ''
  readonly #text: string
  #index = 0
  #tokens = 0
  #groups = 0

  constructor(text: string) {
    this.#text = text
  }

  write(members: Members): Script | undefined {
    try {
      const script = this.#value(this.#next(), members)
      // Spaces at the end.
      this.#next()
      return script
    } catch (error) {
      if (error instanceof NoPattern) return undefined
      throw error
    }
  }

  /** Writes the spaces before the token, and returns it; '' at the end. */
  #next(): string {
    tokens.lastIndex = this.#index
    const [all, spaces, token] = tokens.exec(this.#text) as unknown as [string, string, string]
    this.#index += all.length
    this.source += literally(spaces)
    this.#tokens += 1
    if (this.#tokens > tokensMax || this.source.length > sourceCharsMax) throw new NoPattern()
    return token
  }

  /** Code that reads the value; undefined if nothing needs it. */
  #value(token: string, member: Member | Members | undefined): Script | undefined {
    if (member !== undefined && !(member instanceof Map)) return this.#read(token, member)
    if (member !== undefined && token === 'null') {
      this.source += token
      return token
    }
    if (token === '{') return this.#object(member ?? noMembers)
    if (token === '[') this.#list()
    else this.source += anyScalar
    return undefined
  }

  #read(token: string, member: Member): Script {
    if ('constant' in member) {
      this.source += member.constant
      return member.constant
    }
    this.#skip(token)
    this.#groups += 1
    const found = `match[${this.#groups}]`
    const { pattern, read } = forms[member.type]
    this.source += `(?:${pattern}|null)`
    return `${found} === undefined ? null : ${read(found)}`
  }

  /** Passes over a whole value without writing it. */
  #skip(first: string): void {
    const { source } = this
    let depth = 0
    for (let token = first; ; token = this.#next()) {
      if (token === '{' || token === '[') depth += 1
      if (token === '}' || token === ']') depth -= 1
      if (depth === 0) break
    }
    this.source = source
  }

  #object(members: Members): Script {
    const scripts = new Map<string, Script | undefined>()
    this.source += '\\{'
    for (let token = this.#next(); token !== '}'; token = this.#next()) {
      if (token === ',') {
        this.source += ','
        token = this.#next()
      }
      const name = JSON.parse(token) as string
      // JSON.parse takes the last of two members with one name; an expression can't.
      if (scripts.has(name)) throw new NoPattern()
      this.source += literally(token)
      this.source += this.#next()
      scripts.set(name, this.#value(this.#next(), members.get(name)))
    }
    this.source += '\\}'
    // In the order of the schema, so that all records have one hidden class in V8, whatever order senders choose (Node 20).
    const entries = [...members.keys()]
      .filter((name) => scripts.get(name) !== undefined)
      .map((name) => `${JSON.stringify(name)}: ${scripts.get(name)}`)
    return `{ ${entries.join(', ')} }`
  }

  #list(): void {
    this.source += '\\['
    for (let token = this.#next(); token !== ']'; token = this.#next()) {
      if (token === ',') {
        this.source += ','
        token = this.#next()
      }
      this.#value(token, undefined)
    }
    this.source += '\\]'
  }
}
