/**
 * The values that servers may take for a name of which a request has several. Servers disagree: some take the first one,
 * some the last, some join them. So a policy that looks at one of them could be passed by a request that repeats it.
 */
import type { UsedName } from '../../ground/expr/names.js'
import { FoundValues, noOthers } from './found-values.js'
import { cookieTexts, looseName, queryTexts, unquoted, withoutNeedlessEscapes } from './pair-texts.js'
import { cookiesIn, type Pair, parametersIn, type RequestValues } from './request-values.js'
import { normalizeMethod } from './spelling.js'

/** A value that a server may take instead of the one that is shown. */
export interface Choice {
  /** As expressions write it. */
  readonly name: string
  readonly value: string | undefined
  /** The reason why it is one, as a part of a sentence: `the last of 2`. */
  readonly how: string
}

/** The values that are read of names with several, by slot. */
export type Chosen = ReadonlyMap<string, Choice>

/** Names with the same slot have the same value: the header `user-agent` has two names. */
export const slots = {
  method: 'method',
  query: 'query',
  header: (name: string): string => `header ${name}`,
  cookie: (name: string): string => `cookie ${name}`,
  parameter: (name: string): string => `parameter ${name}`,
}

/** A name of which a request may have several values. */
export interface SeveralName<C> extends Pick<UsedName<C>, 'name' | 'read'> {
  readonly slot: string
  /** The value that is shown may be among them. */
  readonly valuesIn: (values: RequestValues) => FoundValues
}

/** The values of a name beyond the one that is shown. */
export interface Choices {
  readonly slot: string
  readonly others: readonly Choice[]
  /** There are more than these. */
  readonly tooMany: boolean
}

/** Values under one key of a map; of other names the key is "". `literals`: texts of the expressions that use the name. */
export type SeveralValues = (
  key: string,
  literals: readonly string[],
) => Pick<SeveralName<never>, 'slot' | 'valuesIn'>

// --- names of which a request may have several values ---

export const severalHeaders: SeveralValues = (key, literals) => ({
  slot: slots.header(key),
  valuesIn: (values) => headerValuesIn(values, key, literals),
})

export const severalUserAgents: SeveralValues = (_, literals) => severalHeaders('user-agent', literals)

export const severalCookies: SeveralValues = (key) => ({
  slot: slots.cookie(key),
  valuesIn: (values) => cookieValuesIn(values, key),
})

export const severalParameters: SeveralValues = (key) => ({
  slot: slots.parameter(key),
  valuesIn: (values) => parameterValuesIn(values, key),
})

/** The literals say how parameters are spelled. */
export const severalQueries: SeveralValues = (_, literals) => ({
  slot: slots.query,
  valuesIn: (values) => queryTexts(values.queries, literals),
})

export const severalMethods: SeveralValues = () => ({ slot: slots.method, valuesIn: methodsIn })

// --- what they are in a request ---

/** The values beyond those that are shown; empty for most requests. */
export function choicesIn<C extends { readonly values: RequestValues }>(
  names: readonly SeveralName<C>[],
  context: C,
): readonly Choices[] {
  let found: Map<string, Choices & { others: Choice[] }> | undefined
  for (const { slot, name, read, valuesIn } of names) {
    const values = valuesIn(context.values)
    if (values.all.size === 0) continue
    const shown = read(context) ?? undefined
    const others = [...values.all]
      .filter(([value]) => value !== shown)
      .map(([value, how]) => ({ name, value, how }))
    if (others.length === 0) continue
    found ??= new Map()
    const known = found.get(slot)
    found.set(
      slot,
      known === undefined ? { slot, others, tooMany: values.tooMany } : joined(known, others, values),
    )
  }
  return found === undefined ? noChoices : [...found.values()]
}

/** The choices of a name that the policies of an edge and of its route both use. */
const joined = ({ slot, others, tooMany }: Choices, more: readonly Choice[], values: FoundValues) => {
  const known = new Set(others.map(({ value }) => value))
  return {
    slot,
    others: [...others, ...more.filter(({ value }) => !known.has(value))],
    tooMany: tooMany || values.tooMany,
  }
}

const noChoices: readonly Choices[] = []

// --- headers ---

/**
 * Headers whose commas are part of a value, or which only mean something as a whole. The values of all others may have been
 * joined on their way to Weir, and be apart where the server reads them.
 */
const whole =
  /^(?:accept|access-control-|authorization$|baggage$|cache-control$|connection$|content-|cookie$|date$|expect$|forwarded$|from$|host$|if-|keep-alive$|origin$|pragma$|prefer$|priority$|proxy-|range$|referer$|sec-|te$|trace|trailer$|transfer-encoding$|upgrade|user-agent$|via$|warning$|x-forwarded-)/

function headerValuesIn(values: RequestValues, name: string, literals: readonly string[]): FoundValues {
  const own = values.headers.named(name)
  const like = values.headers.like(name)
  const all = like.length === 0 ? own : [...own, ...like]
  if (all.length === 0) return noOthers
  const isWhole = whole.test(name)
  if (name === 'cookie') return cookieTexts(all, literals)
  if (own.length === 1 && all.length === 1 && isPlain(own[0]!, isWhole)) return noOthers
  const found = new FoundValues()
  // Some programs drop headers that are empty, and some send those that are absent so.
  if (own.every((value) => value.trim() === '')) found.add(undefined, 'absent')
  for (const [index, value] of all.entries()) found.add(value.trim(), place(index, all.length))
  addJoined(found, all)
  if (!isWhole)
    for (const part of all.flatMap((value) => value.split(','))) found.add(part.trim(), 'between commas')
  return found
}

const isPlain = (value: string, isWhole: boolean): boolean =>
  value !== '' && value === value.trim() && (isWhole || !value.includes(','))

function addJoined(found: FoundValues, all: readonly string[]): void {
  if (all.length > 1) for (const by of [', ', ',']) found.add(all.join(by), 'all of them joined')
}

const place = (index: number, count: number): string =>
  count === 1
    ? 'in another spelling'
    : index === count - 1
      ? `the last of ${count}`
      : `number ${index + 1} of ${count}`

// --- cookies and parameters ---

function cookieValuesIn(values: RequestValues, name: string): FoundValues {
  const { cookieText = '', cookies } = values
  const found = pairValues(cookies, name)
  if (cookieText.includes(','))
    addPairs(found, cookiesIn(cookieText, /[;,]/), name, 'with commas between cookies')
  for (const value of [...found.all.keys()]) {
    if (value === undefined) continue
    found.add(unquoted(value), 'without quotes')
    found.add(withoutNeedlessEscapes(unquoted(value)), 'decoded')
  }
  return found
}

function parameterValuesIn(values: RequestValues, name: string): FoundValues {
  const { queries, parameters } = values
  if (queries.length === 0) return noOthers
  const found = pairValues(parameters, name)
  for (const query of queries) {
    if (query !== values.query)
      addPairs(found, parametersIn(query, '&'), name, 'with what follows "#", or without it')
    if (query.includes(';')) addPairs(found, parametersIn(query, /[&;]/), name, 'with ";" between parameters')
  }
  return found
}

/** Empty if there is one at most, as it is called. */
function pairValues(pairs: readonly Pair[], name: string): FoundValues {
  const found = new FoundValues()
  addJoined(found, addPairs(found, pairs, name))
  return found
}

/** Returns the values that were added. */
function addPairs(found: FoundValues, pairs: readonly Pair[], name: string, how?: string): string[] {
  const loose = looseName(name)
  const all = pairs.filter((pair) => looseName(pair.name) === loose)
  const own = all.filter((pair) => pair.name === name)
  // Servers that compare names as they are see no value.
  if (own.length === 0 && all.length > 0) found.add(undefined, 'absent')
  for (const [index, { name: spelled, value }] of all.entries()) {
    const called = spelled === name ? '' : `, called ${JSON.stringify(spelled)}`
    found.add(value, how ?? `${all.length === 1 ? 'the only one' : place(index, all.length)}${called}`)
  }
  return all.map(({ value }) => value)
}

// --- methods ---

/** With any sign between the words: programs behind CGI see `HTTP_X_HTTP_METHOD_OVERRIDE`. */
const overridingHeader = /^x[^a-z\d](?:http[^a-z\d])?method(?:[^a-z\d]override)?$/i

/** The second one is of ASP.NET and Firebase. */
const overridingParameters = ['_method', 'x-http-method-override']

function methodsIn(values: RequestValues): FoundValues {
  const asked = [
    ...values.headers.matching(overridingHeader),
    // PHP takes other signs for the first one: `.method`.
    ...(values.mayName('method')
      ? overridingParameters.flatMap((name) => [...parameterValuesIn(values, name).all.keys()])
      : []),
  ]
  if (asked.length === 0) return noOthers
  const found = new FoundValues()
  for (const word of asked.flatMap((value = '') => value.split(',')).map((each) => each.trim()))
    if (/^[\w-]+$/.test(word))
      found.add(normalizeMethod(word), 'that the request asks for in place of its own')
  return found
}
