/**
 * The functions of the language, each also a transform: `lower(x)` is `x|lower` and `x.lower()`. All are pure and
 * bounded. A missing value gives a missing value, or false in functions that return a boolean.
 */
import { type Cidr, cidrContains, compileCidr, parseCidr } from '../core/address/cidr.js'
import { compileCidrSet } from '../core/address/cidr-set.js'
import { type Address, isAddress, parseAddress } from '../core/address/ip.js'
import { ok, problem, type Result, shown } from '../core/errors.js'
import { compilePattern } from './regex.js'
import { ExpressionFailure, type StepBudget } from './run.js'
import { bounded, isAmong, isObject, kindOf, paySearch, payText, primitiveOf, textOf } from './values.js'

/** A function as documents and messages show it. */
export interface DescribedFunction {
  readonly name: string
  /** The result, in a sentence of the documents. */
  readonly about: string
  /** An expression with it, over the names of traffic policies. */
  readonly example: string
  /** Names of the parameters. */
  readonly parameters: readonly string[]
  /** The kind of its value, if it is not true or false. */
  readonly returns?: 'number' | 'text'
}

/** A function of the language: pure, bounded, and the same whether called as a function or as a transform. */
export interface ExpressionFunction extends DescribedFunction {
  call(first: unknown, second: unknown, budget: StepBudget): unknown
  /** The problem of a first argument that is known when the expression is saved. */
  checkFirst?(first: unknown): string | undefined
  /** The problem of a known item of a list that is the second argument. */
  checkItem?(item: unknown): string | undefined
  /** The function for a second argument that is known when the expression is saved, or what is wrong with it. */
  withSecond?(second: unknown): Result<(first: unknown, budget: StepBudget) => unknown>
  /** The second argument has to be known when the expression is saved. */
  readonly secondIsLiteral?: boolean
  /** Its value is always true or false. */
  readonly isQuestion?: boolean
  /** Not evaluated when the expression is saved, even if all arguments are known. */
  readonly neverFolded?: boolean
}

/** Reading a range takes about this many steps. */
const stepsPerRange = 10

/** In an expression a range may be written with any of its addresses, and a bare address is a range of one. */
const readRange = (value: unknown): Result<Cidr> => parseCidr(value, { hostBits: 'allow' })

const checkAddress = (value: unknown): string | undefined =>
  value === undefined || isAddress(value) ? undefined : `${shown(value)} is not an IP address`

function checkRange(value: unknown): string | undefined {
  const range = readRange(value)
  return range.ok ? undefined : withoutStop(range.problem.msg)
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')

/** Is the address in a range that is read only now? Bad and missing ranges hold no address. */
function inUnreadRange(address: Address, range: unknown, budget: StepBudget): boolean {
  budget.take(stepsPerRange)
  if (typeof range !== 'string') return false
  const cidr = readRange(range)
  return cidr.ok && cidrContains(cidr.value, address)
}

/** Like `inCidrRanges`, it reads when the expression is saved what can be read then. */
const inCidrRange: ExpressionFunction = {
  name: 'inCidrRange',
  about: 'Whether the address is in the range.',
  example: "conn.client_ip|inCidrRange('10.0.0.0/8')",
  parameters: ['ip', 'cidr'],
  isQuestion: true,
  checkFirst: checkAddress,
  withSecond: (range) => {
    const cidr = readRange(range)
    return cidr.ok ? ok(compileCidr(cidr.value)) : problem(withoutStop(cidr.problem.msg))
  },
  call: (text, range, budget) => {
    const address = parseAddress(text)
    return address.family !== 0 && inUnreadRange(address, range, budget)
  },
}

const inCidrRanges: ExpressionFunction = {
  name: 'inCidrRanges',
  about: 'Whether the address is in one of the ranges.',
  example: "inCidrRanges(conn.client_ip, ['10.0.0.0/8', '2001:db8::/32'])",
  parameters: ['ip', '[cidr…]'],
  isQuestion: true,
  checkFirst: checkAddress,
  checkItem: checkRange,
  withSecond: (ranges) => {
    if (!Array.isArray(ranges)) return problem(`${shown(ranges)} is not a list of ranges in CIDR notation`)
    const bad = ranges.map(checkRange).find((msg) => msg !== undefined)
    if (bad !== undefined) return problem(bad)
    const set = compileCidrSet(ranges)
    return ok((text) => set.has(parseAddress(text)))
  },
  call: (text, ranges, budget) => {
    const address = parseAddress(text)
    if (!Array.isArray(ranges) || address.family === 0) return false
    for (const range of ranges) if (inUnreadRange(address, range, budget)) return true
    return false
  },
}

/** Numbers as people write them: no hexadecimal, no empty text, which JavaScript would take for 0. */
const decimal = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/
const numberCharsMax = 400

function toNumber(value: unknown, name: string): number {
  const number =
    typeof value === 'string' && value.length <= numberCharsMax && decimal.test(value) ? Number(value) : value
  if (typeof number === 'number' && !Number.isNaN(number)) return number
  throw new ExpressionFailure(`${name} can't make a number of ${kindOf(value)}.`)
}

const double: ExpressionFunction = {
  name: 'double',
  about: 'The value as a number; fails if it is not a number.',
  example: "double('1.5') < conn.geo.latitude",
  parameters: ['value'],
  returns: 'number',
  call: (value) => toNumber(value, 'double'),
}

const int: ExpressionFunction = {
  name: 'int',
  about: 'The value as a whole number, cut towards zero; fails if it is not a number.',
  example: "int('22') == conn.server_port",
  parameters: ['value'],
  returns: 'number',
  call: (value) => {
    const number = Math.trunc(toNumber(value, 'int'))
    if (!Number.isSafeInteger(number))
      throw new ExpressionFailure(`int can't hold a number beyond ±${Number.MAX_SAFE_INTEGER}.`)
    // Towards zero, and zero has no sign among whole numbers.
    return number + 0
  },
}

const string: ExpressionFunction = {
  name: 'string',
  about: 'The value as text.',
  example: "string(conn.server_port).endsWith('22')",
  parameters: ['value'],
  returns: 'text',
  call: (value, _, budget) =>
    value === undefined || value === null ? value : bounded(String(primitiveOf(value, budget)), budget),
}

const size: ExpressionFunction = {
  name: 'size',
  about: 'Length of a text or list, number of keys of an object; 0 without a value.',
  example: 'size(conn.server_name) > 40',
  parameters: ['value'],
  returns: 'number',
  call: (value, _, budget) => {
    if (value === undefined || value === null) return 0
    if (typeof value === 'string' || Array.isArray(value)) return value.length
    if (!isObject(value)) throw new ExpressionFailure(`size can't measure ${kindOf(value)}.`)
    const { length } = Object.keys(value)
    budget.take(1 + length)
    return length
  },
}

const caseFunction = (name: string, about: string, change: (text: string) => string): ExpressionFunction => ({
  name,
  about,
  example: `${name}(conn.geo.city) == ${name}('Oslo')`,
  parameters: ['text'],
  returns: 'text',
  call: (value, _, budget) => {
    const text = textOf(value)
    return text === undefined ? value : bounded(change(text), budget)
  },
})

/** A question about two texts; without one of them the answer is no. */
const textQuestion = (
  { name, about, example }: Pick<ExpressionFunction, 'name' | 'about' | 'example'>,
  second: string,
  ask: (text: string, other: string, budget: StepBudget) => boolean,
): ExpressionFunction => ({
  name,
  about,
  example,
  parameters: ['text', second],
  isQuestion: true,
  call: (first, other, budget) => {
    const text = textOf(first)
    const otherText = textOf(other)
    return text !== undefined && otherText !== undefined && ask(text, otherText, budget)
  },
})

const containsText = textQuestion(
  {
    name: 'contains',
    about: 'Whether the text holds the part, or the list the value.',
    example: "conn.server_name.contains('internal')",
  },
  'part',
  (text, part, budget) => {
    paySearch(text, part, budget)
    return text.includes(part)
  },
)

const contains: ExpressionFunction = {
  ...containsText,
  parameters: ['text or list', 'part'],
  call: (first, part, budget) =>
    Array.isArray(first) ? isAmong(first, part, budget) : containsText.call(first, part, budget),
}

const matches: ExpressionFunction = {
  name: 'matches',
  about: 'Whether the pattern (RE2 syntax, unanchored) occurs in the text; takes linear time.',
  example: "conn.server_name|matches('^db[0-9]+[.]')",
  parameters: ['text', 'pattern'],
  isQuestion: true,
  secondIsLiteral: true,
  neverFolded: true,
  withSecond: (pattern) => {
    if (typeof pattern !== 'string') return problem(`${shown(pattern)} is not a regular expression`)
    const compiled = compilePattern(pattern)
    if (!compiled.ok) return compiled
    return ok((value, budget) => {
      const text = textOf(value)
      return text !== undefined && compiled.value(text, budget)
    })
  },
  call: () => {
    throw new Error('A pattern is always compiled when the expression is saved.')
  },
}

export const expressionFunctions: ReadonlyMap<string, ExpressionFunction> = new Map(
  [
    inCidrRange,
    inCidrRanges,
    double,
    int,
    string,
    size,
    caseFunction('lower', 'The text in lower case.', (text) => text.toLowerCase()),
    caseFunction('upper', 'The text in upper case.', (text) => text.toUpperCase()),
    textQuestion(
      {
        name: 'startsWith',
        about: 'Whether the text begins like this.',
        example: "conn.server_name.startsWith('db.')",
      },
      'beginning',
      (text, beginning, budget) => {
        payText(beginning, budget)
        return text.startsWith(beginning)
      },
    ),
    textQuestion(
      {
        name: 'endsWith',
        about: 'Whether the text ends like this.',
        example: "conn.server_name|endsWith('.example.com')",
      },
      'end',
      (text, end, budget) => {
        payText(end, budget)
        return text.endsWith(end)
      },
    ),
    contains,
    matches,
  ].map((declared) => [declared.name, declared]),
)
