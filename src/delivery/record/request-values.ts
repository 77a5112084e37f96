/**
 * Parts that a request may have several of: headers, cookies, and parameters of its query. Each is read once, for all
 * expressions.
 */
import { percentDecoded } from '../../ground/core/text/target-readings.js'
import type { Headers, RequestRecord } from './traffic-record.js'

type Values = readonly string[]
type Request = NonNullable<NonNullable<RequestRecord['http']>['request']>

/** A cookie or a parameter. */
export interface Pair {
  readonly name: string
  readonly value: string
}

const none: Values = []

export class RequestValues {
  readonly #request: Request
  #headers: HeaderLines | undefined
  #cookies: readonly Pair[] | undefined
  #parameters: readonly Pair[] | undefined

  constructor(request: Request | null | undefined) {
    this.#request = request ?? {}
  }

  get headers(): HeaderLines {
    this.#headers ??= new HeaderLines(this.#request.headers)
    return this.#headers
  }

  /** Values of cookies with exactly this name. */
  cookie(name: string): Values {
    return valuesOf(this.cookies, name)
  }

  /** Decoded values of parameters with exactly this name. */
  parameter(name: string): Values {
    return valuesOf(this.parameters, name)
  }

  /** As a server reads several headers for cookies. */
  get cookieText(): string | undefined {
    const lines = this.headers.named('cookie')
    return lines.length < 2 ? lines[0] : lines.join('; ')
  }

  get cookies(): readonly Pair[] {
    this.#cookies ??= cookiesIn(this.cookieText ?? '', ';')
    return this.#cookies
  }

  get parameters(): readonly Pair[] {
    this.#parameters ??= parametersIn(this.query, '&')
    return this.#parameters
  }

  /** As the record shows it. */
  get query(): string {
    return this.#request.url?.query ?? ''
  }

  /** The query and, if some servers find another one in the target, that as well. */
  get queries(): Values {
    const { query, raw } = this.#request.url ?? {}
    const start = raw?.indexOf('?') ?? -1
    // A fragment is never sent; servers that get one take it for a part of the query, or don't.
    if (start === -1 || (query && !raw!.includes('#', start))) return query ? [query] : none
    const sent = raw!.slice(start + 1)
    return [...new Set([query ?? '', sent, sent.replace(/#.*/s, '')])].filter((text) => text !== '')
  }

  /** May its query have a parameter with this word in its name, however that is encoded? */
  mayName(word: string): boolean {
    const { query, raw } = this.#request.url ?? {}
    return [query, raw].some((text) => text && (text.includes('%') || text.toLowerCase().includes(word)))
  }
}

/** The values of headers in their order. A look at all names for each that is asked for is cheaper than a map of them. */
export class HeaderLines {
  readonly #headers: Headers
  readonly #names: readonly string[]

  constructor(headers: Headers | null | undefined) {
    this.#headers = headers ?? noHeaders
    this.#names = Object.keys(this.#headers)
  }

  /** The name is in lower case. Values of names that differ by case are joined. */
  named(name: string): Values {
    return this.#joined(name, (spelled) => spelled === name || spelled.toLowerCase() === name)
  }

  /** Values of headers with another name that a program behind CGI or WSGI can't tell from this one: `X_Role`, `X-Role`. */
  like(name: string): Values {
    return this.#joined(name, (spelled) => isLike(spelled, name))
  }

  /** Those whose names match a pattern of names that begin with `x`. */
  matching(pattern: RegExp): Values {
    let found = none
    for (const name of this.#names)
      if (isX(name.charCodeAt(0)) && pattern.test(name)) found = [...found, ...this.#headers[name]!]
    return found
  }

  #joined(like: string, isIt: (spelled: string) => boolean): Values {
    let found = none
    for (const name of this.#names) {
      // Compared names may differ by case and by signs, but not in length.
      if (name.length !== like.length || !isIt(name)) continue
      const values = this.#headers[name]!
      found = found.length === 0 ? values : [...found, ...values]
    }
    return found
  }
}

const noHeaders: Headers = {}
const isX = (code: number): boolean => code === 0x78 || code === 0x58

/**
 * Programs behind CGI, WSGI and FastCGI see `HTTP_X_ROLE`. Both are of the same length, and differ in more than the case of
 * letters.
 */
function isLike(spelled: string, name: string): boolean {
  let differs = false
  for (let index = 0; index < name.length; index += 1) {
    const [code, wanted] = [small(spelled.charCodeAt(index)), name.charCodeAt(index)]
    if (code === wanted) continue
    if (isWordy(code) || isWordy(wanted)) return false
    differs = true
  }
  return differs
}

const small = (code: number): number => (code >= 0x41 && code <= 0x5a ? code + 0x20 : code)
const isWordy = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39)

const valuesOf = (pairs: readonly Pair[], name: string): Values =>
  pairs.length === 0 ? none : pairs.filter((pair) => pair.name === name).map(({ value }) => value)

// --- pairs ---

/** The texts before and after the first `=`. */
export const pairOf = (text: string): Pair => {
  const end = text.indexOf('=')
  return end === -1 ? { name: text, value: '' } : { name: text.slice(0, end), value: text.slice(end + 1) }
}

export const cookiesIn = (text: string, separator: string | RegExp): Pair[] =>
  partsOf(text, separator).map((part) => {
    const { name, value } = pairOf(part)
    return { name: name.trim(), value: value.trim() }
  })

export const parametersIn = (query: string, separator: string | RegExp): Pair[] =>
  partsOf(query, separator).map((part) => {
    const { name, value } = pairOf(part.replaceAll('+', ' '))
    return { name: percentDecoded(name), value: percentDecoded(value) }
  })

const partsOf = (text: string, separator: string | RegExp): string[] =>
  text === '' ? [] : text.split(separator).filter((part) => part !== '')
