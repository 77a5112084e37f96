/** The text of a query, and of the header for cookies, as servers read it that disagree about which values count. */
import { asSent, expanded, replacing, type Step } from '../../ground/core/text/target-readings.js'
import { FoundValues, noOthers } from './found-values.js'
import { pairOf } from './request-values.js'

/** Texts that are made of one, and characters of all of them: of long ones there are fewer. */
const textsMax = 256
const textsMin = 8
const charsMax = 256 * 1024

/**
 * The query as sent, and with the first or the last value of each parameter; with `;` for `&`; with names in other
 * spellings.
 */
export function queryTexts(queries: readonly string[], literals: readonly string[]): FoundValues {
  if (queries.length === 0 || (queries.length === 1 && isPlain(queries[0]!, '&', oddInQuery))) return noOthers
  return texts(queries, [...querySteps, ...looseSteps('&', literals), ...selecting('&')])
}

/** The header as it was sent, all of them as one, and with the first or the last cookie of each name. */
export function cookieTexts(lines: readonly string[], literals: readonly string[]): FoundValues {
  if (lines.length === 1 && isPlain(lines[0]!, '; ', oddInCookies)) return noOthers
  const all = lines.length === 1 ? lines : [...lines, lines.join('; '), lines.join(', '), lines.join(',')]
  return texts(all, [...cookieSteps, ...looseSteps('; ', literals), ...selecting(';')])
}

function texts(sent: readonly string[], steps: readonly Step[]): FoundValues {
  const start = new Map(sent.map((text, index) => [text, index === 0 ? asSent : 'of several']))
  const longest = Math.max(1, ...sent.map((text) => text.length))
  const max = Math.max(textsMin, Math.min(textsMax, Math.floor(charsMax / longest)))
  const { all, tooMany } = expanded(start, steps, max)
  const found = new FoundValues()
  for (const { path, how } of all) found.add(path, how)
  found.tooMany = tooMany
  return found
}

// --- what needs no step ---

/** Pairs of which none is there twice, with names of small letters, and no sign that a step changes. Most are so. */
function isPlain(text: string, separator: string, odd: RegExp): boolean {
  const names: string[] = []
  for (let start = 0; start <= text.length; ) {
    const end = endOf(text, separator, start)
    const equals = text.indexOf('=', start)
    const name = text.slice(start, equals === -1 || equals > end ? end : equals)
    if (names.length === plainPairsMax || !isPlainName(name) || names.includes(name)) return false
    names.push(name)
    start = end + separator.length
  }
  return !odd.test(text)
}

function endOf(text: string, separator: string, start: number): number {
  const end = text.indexOf(separator, start)
  return end === -1 ? text.length : end
}

/** With more pairs, each would be compared with too many others. */
const plainPairsMax = 30

function isPlainName(name: string): boolean {
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index)
    if (!((code >= a && code <= z) || (code >= zero && code <= nine) || code === low || code === hyphen))
      return false
  }
  return true
}

const [a, z, zero, nine, low, hyphen] = [0x61, 0x7a, 0x30, 0x39, 0x5f, 0x2d]

const oddInQuery = /[;#]|%(?:2d|2e|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i
/** All but `; ` between cookies, and quotes. */
const oddInCookies = /[,"%]|;(?! )|\s(?:[\s;=]|$)|=\s|;$/

// --- steps ---

/** A letter, digit, `-`, `.`, `_` or `~` that is encoded. */
const needless = /%(?:2d|2e|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/gi

/** No client encodes these: who does means to hide them. */
export const withoutNeedlessEscapes = (text: string): string =>
  text.includes('%') ? text.replace(needless, decodeURIComponent) : text

const decodesNeedless: Step = { does: 'decoded', apply: withoutNeedlessEscapes }

/** As Python reads a cookie, and so Django and Flask: within quotes, `\\141` is `a`. Others only remove the quotes. */
export function unquoted(value: string): string {
  if (value.length < 2 || !value.startsWith('"') || !value.endsWith('"')) return value
  return value
    .slice(1, -1)
    .replace(/\\([0-3][0-7]{2}|.)/gs, (_, escaped: string) =>
      escaped.length === 3 ? String.fromCharCode(Number.parseInt(escaped, 8)) : escaped,
    )
}

const querySteps: readonly Step[] = [replacing('";" as "&"', /;/g, '&'), decodesNeedless]

const cookieSteps: readonly Step[] = [
  replacing('"," as ";"', /,/g, ';'),
  decodesNeedless,
  { does: 'spaces as usual', apply: withUsualSpaces },
  { does: 'quotes removed', apply: withoutQuotes },
]

function withUsualSpaces(cookies: string): string {
  const pairs = cookies.split(';').map((part) => {
    const end = part.indexOf('=')
    return end === -1 ? part.trim() : `${part.slice(0, end).trim()}=${part.slice(end + 1).trim()}`
  })
  return pairs.filter((pair) => pair !== '').join('; ')
}

/** Other spellings of a name that some servers take for the same, where that is not how policies spell them. */
const looseSteps = (separator: string, literals: readonly string[]): Step[] => [
  ...(literals.some(spellsBrackets)
    ? []
    : [inNames(separator, 'brackets of names removed', withoutBrackets)]),
  ...(literals.some(spellsDots) ? [] : [inNames(separator, 'names as in PHP', asInPhp)]),
  ...(literals.some(spellsCapitals) ? [] : [inNames(separator, 'names in small letters', inSmallLetters)]),
]

/** The digits of what is encoded stay. */
const inSmallLetters = (name: string): string =>
  name.replace(/%[\da-f]{2}|[A-Z]/gi, (part) => (part.length === 1 ? part.toLowerCase() : part))

function withoutQuotes(cookies: string): string {
  if (!cookies.includes('"')) return cookies
  const pairs = cookies.split('; ').map((part) => {
    const { name, value } = pairOf(part)
    return part.includes('=') ? `${name}=${unquoted(value)}` : part
  })
  return pairs.join('; ')
}

/** Those of a name, and no class of a pattern: `ids[]`, `ids[0]`. */
const spellsBrackets = (text: string): boolean => /\[\]|\w\[\w*\]|\\\[|%5b/i.test(text)

const spellsDots = (text: string): boolean => /\w(?:\\*\.| |\+|%20)\w+=/.test(text)

/** Before an `=`, or anywhere in a text without one; escapes are no letters. */
const spellsCapitals = (text: string): boolean =>
  /[A-Z]/.test(text.replace(/\\[A-Za-z]|%[\dA-Fa-f]{2}/g, '').replace(/=[^&;]*/g, '='))

const inNames = (separator: string, does: string, change: (name: string) => string): Step => ({
  does,
  apply: (text) =>
    text
      .split(separator)
      .map((part) => {
        const end = part.indexOf('=')
        return end === -1 ? change(part) : change(part.slice(0, end)) + part.slice(end)
      })
      .join(separator),
})

/** `a[]` and `a[0]` are values of `a` in PHP, Rails and Express. */
const withoutBrackets = (name: string): string => name.replace(/(?<=.)(?:\[|%5b).*/is, '')

/** PHP has no dots, spaces and brackets without an end in names, and no spaces before them. */
function asInPhp(name: string): string {
  const start = name.replace(/^(?:\+|%20| )+/, '').replace(/%00.*/s, '')
  return start.replace(/\]|%5d/i.test(start) ? /\.|\+|%20| |%2e/gi : /\.|\+|%20| |%2e|\[|%5b/gi, '_')
}

/** A name as the server sees it that is least strict about names. */
export function looseName(name: string): string {
  const start = name.trimStart().replace(/\0.*/s, '')
  const whole = start.includes(']') ? start.replace(/(?<=.)\[.*/s, '') : start
  return whole.replace(/[. []/g, '_').toLowerCase()
}

/** The first, or the last, of each name, where it stands. */
const selecting = (separator: string): Step[] => [
  { does: 'the first of each', apply: (text) => selected(text, separator, 'first') },
  { does: 'the last of each', apply: (text) => selected(text, separator, 'last') },
]

function selected(text: string, separator: string, which: 'first' | 'last'): string {
  const parts = text.split(separator)
  const chosen = new Map<string, string>()
  for (const part of parts) {
    const name = pairOf(part).name.trim()
    if (which === 'last') chosen.delete(name)
    if (which === 'last' || !chosen.has(name)) chosen.set(name, part)
  }
  return chosen.size === parts.length
    ? text
    : [...chosen.values()].map(trimmedIf(separator)).join(joins(separator))
}

const joins = (separator: string): string => (separator === ';' ? '; ' : separator)
const trimmedIf =
  (separator: string) =>
  (part: string): string =>
    separator === ';' ? part.trim() : part
