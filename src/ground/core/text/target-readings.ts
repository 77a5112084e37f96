/**
 * The readings of a request's path. Servers disagree about what a path with `\`, `%2f`, `//`, `;` and the like names, so
 * a policy that looks at one of them could be passed by a spelling that the server behind it takes for another. Each
 * step below is something that a common server does, or does not: all paths that come out are readings. Most paths need
 * no step, and are found to need none by one regular expression.
 */

export interface Reading {
  readonly path: string
  /** The changes to the path that was sent: `decoded, dot segments removed`. */
  readonly how: string
}

export interface Readings {
  /** The first one is the path as sent, decoded as far as all servers agree. */
  readonly all: readonly Reading[]
  /** There are more: what is decided by these alone is not safe. */
  readonly tooMany: boolean
}

/** Paths with three or four tricks at once have some 30. */
const readingsMax = 64
/** Characters of all readings of a path: of long ones there are fewer, which bounds what a request costs. */
const charsMax = 64 * 1024

/**
 * Bytes that can't be in a path unencoded, or that encoders encode although they could: all servers decode them, or
 * compare them encoded with what is written encoded. A `%25` begins nothing that could be decoded again.
 */
const agreed = /(?:%[89a-f][\da-f])+|%(?:2[0-24689a-c]|3[acde]|40|5[bde]|60|7[b-e]|25(?![\da-fu%]))/gi

const unpaired = /%(?![\da-f]{2})/i
/** A path in which servers may disagree, once what they agree about is decoded. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for.
const disputed = /[\\;#?\x00-\x1f\x7f\ufffd]|\/\/|[. ](?:\/|$)|^[^/]|%[\da-fu]/i

/** The kinds of signs for `isPlain`. */
const [letter, slash, dotOrSpace, mark] = [0, 1, 2, 3]
const slashCode = 0x2f
const marks = new Set('\\;#?%\x7f')
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const sign = String.fromCharCode(code)
  if (sign === '/') return slash
  if (sign === '.' || sign === ' ') return dotOrSpace
  return sign < ' ' || marks.has(sign) ? mark : letter
})

/** Most paths: every request's is looked at, in one pass that makes no other text. */
function isPlain(path: string): boolean {
  if (path.charCodeAt(0) !== slashCode) return false
  let before = letter
  for (let index = 0; index < path.length; index += 1) {
    const code = path.charCodeAt(index)
    const kind = code > 127 ? mark : kinds[code]!
    if (kind === mark || (kind === slash && before !== letter)) return false
    before = kind
  }
  return before !== dotOrSpace
}

const decodedIfValid = (run: string): string => {
  try {
    return decodeURIComponent(run)
  } catch {
    return run
  }
}

const withAgreed = (path: string): string =>
  path.includes('%') ? path.replace(agreed, decodedIfValid) : path

/** Do servers disagree about what the path names? */
export function isDisputed(path: string): boolean {
  if (isPlain(path) || path === '*') return false
  return unpaired.test(path) || disputed.test(withAgreed(path))
}

/** Undefined if all servers read the path alike: as it is, or decoded where they agree. */
export const readingsOfPath = (path: string): Readings | undefined =>
  isDisputed(path) ? readingsOf(path) : undefined

/** `also`: another path that some servers take it for. */
export function readingsOf(path: string, also?: string): Readings {
  const start = withAgreed(path)
  const found = new Map([[start, asSent]])
  if (also !== undefined) found.set(withAgreed(also), 'after a host that ends before a sign')
  else if (!isDisputed(path)) return { all: readingsIn(found), tooMany: false }
  return expanded(found, steps, Math.max(1, Math.min(readingsMax, Math.floor(charsMax / start.length))))
}

/** All texts that come of some of the steps, in their order. `found`: by text, what was done to it so far. */
export function expanded(found: Map<string, string>, steps: readonly Step[], max: number): Readings {
  for (const { does, apply } of steps) {
    for (const [path, how] of [...found]) {
      const changed = apply(path)
      if (found.has(changed)) continue
      if (found.size >= max) return { all: readingsIn(found), tooMany: true }
      found.set(changed, how === asSent ? does : `${how}, ${does}`)
    }
  }
  return { all: readingsIn(found), tooMany: false }
}

export const asSent = 'as sent'

/**
 * As long as the text. Two letters have small ones in ASCII to servers, though not to JavaScript: for `İ`, Go writes `i`,
 * and `ſ` is an `s` to file systems that ignore the case.
 */
export const inSmallLetters = (text: string): string =>
  text.replaceAll('\u0130', 'i').replaceAll('\u017f', 's').toLowerCase()

const readingsIn = (found: ReadonlyMap<string, string>): Reading[] =>
  [...found].map(([path, how]) => ({ path, how }))

// --- steps ---

/** One thing that some servers do and others don't; a text that it does not concern stays. */
export interface Step {
  /** For explanations, as a part of a sentence. */
  readonly does: string
  readonly apply: (text: string) => string
}

export const replacing = (does: string, pattern: RegExp, by: string): Step => ({
  does,
  apply: (text) => text.replace(pattern, by),
})

const withoutScheme = replacing('without its scheme', /^[a-z][\w+.-]*:/i, '')

/** The URL parser of browsers and Node takes what follows two slashes for a host, a scheme away. */
const asUrl: readonly Step[] = [
  withoutScheme,
  // By a proxy, and again by the server behind it.
  withoutScheme,
  replacing('backslashes as slashes', /\\/g, '/'),
  // Routers may skip the first sign without a look at it.
  replacing('its first sign as a slash', /^[^/](?=.)/s, '/'),
  { does: 'with a slash before it', apply: (path) => (path.startsWith('/') ? path : `/${path}`) },
]

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed.
const control = /[\x00-\x1f\x7f]/

/** Steps of servers before they decode a path, and again afterwards. */
const cleaning: readonly Step[] = [
  replacing('backslashes as slashes', /\\/g, '/'),
  replacing('control characters removed', new RegExp(control, 'g'), ''),
  replacing('cut at a control character', new RegExp(`${control.source}.*`, 's'), ''),
  replacing('cut at "?" or "#"', /[?#].*/s, ''),
  replacing('cut at ";"', /;.*/s, ''),
  replacing('parameters cut', /;[^/]*/g, ''),
  replacing('without a host', /^\/\/+[^/]*/, ''),
  replacing('slashes merged', /\/\/+/g, '/'),
  replacing('"." segments removed', /(?<=\/)\.(?:\/|$)/g, ''),
  { does: 'final spaces cut', apply: (path) => withoutFinal(path, ' ') },
  { does: 'final dots and spaces cut', apply: (path) => withoutFinal(path, '. ') },
  { does: 'dot segments removed', apply: (path) => withoutDots(path, plainDots) },
  // A segment "." is then one that ".." removes, as in HAProxy's path-strip-dotdot.
  { does: 'only ".." segments removed', apply: (path) => withoutDots(path, parents) },
  { does: 'encoded dot segments removed', apply: (path) => withoutDots(path, anyDots) },
  {
    does: 'dot segments removed as from the name of a file',
    apply: (path) => withoutDots(path, anyDots, true),
  },
  { does: 'final dots and spaces of segments cut', apply: withoutFinalDots },
]

const decodes: Step = { does: 'decoded', apply: (path) => percentDecoded(path) }

const decoding: readonly Step[] = [
  {
    does: '%u decoded',
    apply: (path) =>
      path.replace(/%u([\da-f]{4})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16))),
  },
  replacing('"%" without digits dropped', new RegExp(unpaired, 'gi'), ''),
  { does: 'overlong UTF-8 decoded', apply: withoutOverlong },
  { does: 'decoded as Latin-1', apply: inLatin1 },
  { does: 'decoded except %2f', apply: (path) => decodedButSlashes(path) },
  decodes,
  replacing('bytes that are not UTF-8 dropped', /\ufffd/g, ''),
]

/** Decoded twice, as by a proxy and the server behind it. */
const steps: readonly Step[] = [...asUrl, ...cleaning, ...decoding, ...cleaning, decodes, ...cleaning]

/**
 * As RFC 3986 reads a path: dot segments removed (5.2.4; also encoded ones, 6.2.2), then decoded, except for slashes:
 * those are data there.
 */
export const rfcPath = (path: string): string => decodedButSlashes(withoutDots(path, anyDots))

/**
 * RFC 3986, section 5.2.4: the slash before a final dot segment stays, and empty segments are segments. The name of a
 * file loses that slash.
 */
function withoutDots(path: string, dots: RegExp, isFile = false): string {
  if (!/(?:^|\/)(?:\.|%2e)/i.test(path)) return path
  const isAbsolute = path.startsWith('/')
  const segments = path.slice(isAbsolute ? 1 : 0).split('/')
  const kept: string[] = []
  let endsInDots = false
  for (const segment of segments) {
    const { 1: first, 2: second } = dots.exec(segment) ?? []
    endsInDots = first !== undefined
    if (second) kept.pop()
    else if (!endsInDots) kept.push(segment)
  }
  if (endsInDots && !isFile) kept.push('')
  return `${isAbsolute ? '/' : ''}${kept.join('/')}`
}

const parents = /^(\.)(\.)$/
const plainDots = /^(\.)(\.)?$/
const anyDots = /^(\.|%2e)(\.|%2e)?$/i

/** As Windows does. Dot segments stay. */
function withoutFinalDots(path: string): string {
  if (!/[. ](?:\/|$)/.test(path)) return path
  return path.replace(/[^/]+/g, (segment) => withoutFinal(segment, '. ') || segment)
}

/**
 * Caddy's matchers cut both at the end of a path before they remove dot segments, so that `/x/../admin/..` is `/admin/`.
 * Spaces alone get lost where a proxy writes a decoded path into the line of a request.
 */
function withoutFinal(text: string, signs: '. ' | ' '): string {
  let end = text.length
  while (end > 0 && signs.includes(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}

const decodedButSlashes = (path: string): string => decoded(path, /(?:%(?!2f)[\da-f]{2})+/gi)

/** Bytes that are not UTF-8 become U+FFFD. */
export const percentDecoded = (text: string): string => decoded(text, /(?:%[\da-f]{2})+/gi)

const decoded = (path: string, runs: RegExp): string =>
  path.includes('%') ? path.replace(runs, (run) => run.replace(character, decodedCharacter)) : path

/** The bytes of a character, by the shortest form that its first byte allows; else one byte. */
const character =
  /%(?:c[2-9a-f]|d[\da-f])%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-4](?:%[89ab][\da-f]){3}|%[\da-f]{2}/gi

/**
 * Bytes that are not UTF-8 become U+FFFD. Without `TextDecoder`: the evaluator also runs where there is only the language.
 */
function decodedCharacter(bytes: string): string {
  try {
    return decodeURIComponent(bytes)
  } catch {
    return '\ufffd'
  }
}

/** Only if some of it is not UTF-8: otherwise no server would. */
function inLatin1(path: string): string {
  if (!/%[89a-f]/i.test(path)) return path
  return path.replace(/(?:%[\da-f]{2})+/gi, (run) =>
    run.replace(/%../g, (byte) => String.fromCharCode(Number.parseInt(byte.slice(1), 16))),
  )
}

/** ASCII in more bytes than it needs, which old decoders take: `%c0%af` is a slash. */
function withoutOverlong(path: string): string {
  return path.replace(overlong, (_, two?: string, three?: string, four?: string, high = '', low = '') => {
    const rest = (Number.parseInt(high, 16) & 3) * 16 + Number.parseInt(low, 16)
    return `%${(Number(two ?? three ?? four) * 64 + rest).toString(16).padStart(2, '0')}`
  })
}

const overlong = /(?:%c([01])|%e0%8([01])|%f0%80%8([01]))%([89ab])([\da-f])/gi
