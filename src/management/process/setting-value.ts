/** Value formats of settings: each form parses a text, describes what it allows, and returns `undefined` for the rest. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { sizeText } from '../../ground/core/text/plural.js'
import { durationMs, inUnits, units } from '../../ground/core/text/units.js'

const tokenCharsMin = 16
const tokenCharsMax = 128

export interface ValueForm<T> {
  /** Completes the sentence "it must be …". */
  readonly allowed: string
  readonly parse: (text: string) => T | undefined
  /** The value as a person would write it; by default as it is. */
  show?(value: T): string
  /** Never shown, neither in errors nor in the list of settings in use. */
  readonly secret?: true
  /** Several values: separated by commas in the environment, or a list in a file. */
  readonly list?: true
}

export const integer = (min: number, max: number): ValueForm<number> => ({
  allowed: `a whole number from ${min} to ${max}`,
  parse: (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  },
})

export const oneOf = <const T extends string>(...names: readonly T[]): ValueForm<T> => ({
  allowed: `one of ${names.join(', ')}`,
  parse: (text) => names.find((name) => name === text),
})

/** A name of something in the configuration of another program. */
export const name: ValueForm<string> = {
  allowed: 'a name of up to 64 letters, digits, _, - and ., which begins with a letter or _',
  parse: (text) => (/^[A-Za-z_][\w.-]{0,63}$/.test(text) ? text : undefined),
}

export const path: ValueForm<string> = {
  allowed: 'a path',
  parse: (text) => (text.includes('\0') ? undefined : text),
}

/** As an absolute path. */
export const directory: ValueForm<string> = {
  allowed: path.allowed,
  parse: (text) => (path.parse(text) === undefined ? undefined : resolve(text)),
}

/** The absolute path of a file that is read by whoever needs what it holds. */
export const file: ValueForm<string> = { ...directory, allowed: 'the path of a file' }

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i
const isHostName = (text: string): boolean =>
  text.length <= 253 && text.split('.').every((part) => label.test(part))

export const host: ValueForm<string> = {
  allowed: 'a host name or an IP address',
  parse: (text) => (isIP(text) !== 0 || isHostName(text) ? text : undefined),
}

export const domain: ValueForm<string> = {
  allowed: 'a domain name',
  parse: (text) => (isHostName(text) && isIP(text) === 0 ? text.toLowerCase() : undefined),
}

const isUrl = (text: string, schemes: readonly string[]): boolean =>
  URL.canParse(text) && schemes.includes(new URL(text).protocol) && new URL(text).hostname !== ''

export const httpUrl: ValueForm<string> = {
  allowed: 'an http:// or https:// address',
  parse: (text) => (isUrl(text, ['http:', 'https:']) ? text : undefined),
}

export const plainUrl: ValueForm<string> = {
  allowed: 'an http:// or https:// address without credentials or fragment',
  parse: (text) => {
    if (!isUrl(text, ['http:', 'https:'])) return undefined
    const { username, password, hash } = new URL(text)
    return username + password + hash === '' ? text : undefined
  },
}

/** A URL to which a path is appended: without query, fragment or trailing slash. */
export const baseUrl: ValueForm<string> = {
  allowed: 'an http:// or https:// address without credentials, query or fragment',
  parse: (text) => {
    if (!isUrl(text, ['http:', 'https:'])) return undefined
    const { username, password, search, hash } = new URL(text)
    return username + password + search + hash === '' ? text.replace(/[/?#]+$/, '') : undefined
  },
}

const natsServer: ValueForm<string> = {
  allowed: 'nats://, tls://, ws:// or wss:// addresses, separated by commas',
  parse: (text) => {
    const url = text.includes('://') ? text : `nats://${text}`
    return isUrl(url, ['nats:', 'tls:', 'ws:', 'wss:']) ? url : undefined
  },
}

const within = (min: number, max: number, value: number | undefined): number | undefined =>
  value !== undefined && value >= min && value <= max ? value : undefined

const dayMs = 24 * 60 * 60_000

export const duration = (minMs: number, maxMs: number): ValueForm<number> => ({
  allowed: `a duration from ${minMs / 1000} s to ${maxMs / dayMs} d, such as 90s, 30m, 72h or 7d`,
  parse: (text) => within(minMs, maxMs, durationMs(text)),
  show: inUnits({ h: 60 * 60_000, m: 60_000, s: 1000, ms: 1 }),
})

const mebi = 1024 ** 2
const bytes = units({
  b: 1,
  kib: 1024,
  mib: mebi,
  gib: mebi * 1024,
  tib: mebi ** 2,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
})

export const size = (minBytes: number, maxBytes: number, examples: string): ValueForm<number> => ({
  allowed: `a size from ${sizeText(minBytes)} to ${sizeText(maxBytes)}, such as ${examples}`,
  parse: (text) => within(minBytes, maxBytes, bytes(text)),
  show: inUnits({ TiB: mebi ** 2, GiB: mebi * 1024, MiB: mebi, KiB: 1024, B: 1 }),
})

export const subjectPrefix: ValueForm<string> = {
  allowed: 'a NATS subject without wildcards, such as _INBOX.weir',
  parse: (text) => (/^[\w-]+(\.[\w-]+)*$/.test(text) ? text : undefined),
}

const headerName: ValueForm<string> = {
  allowed: 'HTTP header names, separated by commas',
  parse: (text) => (/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(text) ? text : undefined),
}

/** A bare address means the network of only that address. */
const cidr: ValueForm<string> = {
  allowed: 'CIDRs such as 10.0.0.0/8, separated by commas',
  parse: (text) => {
    const [address = '', mask, ...rest] = text.split('/')
    const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : undefined
    if (bits === undefined || rest.length > 0) return undefined
    if (mask === undefined) return `${address}/${bits}`
    return /^\d{1,3}$/.test(mask) && Number(mask) <= bits ? text : undefined
  },
}

const secretKeysMax = 4

/** 32 bytes as base64, in either alphabet, stored as the original text; while the key is rotated, several. */
export const secretKeyText: ValueForm<string> = {
  allowed: `32 bytes as base64 (openssl rand -base64 32), or up to ${secretKeysMax} such keys, separated by commas`,
  parse: (text) => {
    const keys = text.split(',').map((key) => key.trim())
    return keys.length <= secretKeysMax && keys.every(isSecretKey) ? keys.join(',') : undefined
  },
  secret: true,
}

const isSecretKey = (text: string): boolean =>
  /^[\w+/-]{43}=?$/.test(text) && Buffer.from(text, 'base64').length === 32

export const accessToken: ValueForm<string> = {
  allowed: `a token of ${tokenCharsMin} to ${tokenCharsMax} printable ASCII characters without spaces`,
  parse: (text) =>
    text.length >= tokenCharsMin && text.length <= tokenCharsMax && /^[!-~]+$/.test(text) ? text : undefined,
  secret: true,
}

/** One or more values of a form; blank elements are ignored. */
const listOf = <T>(form: ValueForm<T>): ValueForm<readonly T[]> => ({
  allowed: form.allowed,
  list: true,
  parse: (text) => {
    const values = elements(text).map(form.parse)
    const good = values.filter((value) => value !== undefined)
    return good.length > 0 && good.length === values.length ? good : undefined
  },
})

const elements = (text: string): string[] =>
  text
    .split(',')
    .map((element) => element.trim())
    .filter((element) => element !== '')

export const natsServers = listOf(natsServer)
export const headerNames = listOf(headerName)
export const cidrs = listOf(cidr)
export const paths = listOf(path)

/** Part of a whole: from 0 to 1. */
export const share: ValueForm<number> = {
  allowed: 'a number from 0 to 1, such as 0.01',
  parse: (text) => (/^(0|1|0?\.\d{1,15}|[01]\.0{1,15}|0\.\d{1,15})$/.test(text) ? Number(text) : undefined),
}

/** A name that people read. */
export const line: ValueForm<string> = {
  allowed: 'a text of up to 255 characters in one line',
  parse: (text) => (/^[^\p{Cc}]{1,255}$/u.test(text) ? text : undefined),
}

const pairsMax = 64
const pairsCharsMax = 8 * 1024
const pairForm = /^\s*([\w!#$%&'*+.^`|~-]{1,255})\s*=\s*([!-+\--~]*)\s*$/

/** `name=value` pairs as of W3C Baggage, which OpenTelemetry uses for headers and attributes: values are percent-encoded. */
export const pairs: ValueForm<Readonly<Record<string, string>>> = {
  allowed: `up to ${pairsMax} pairs such as name=value, separated by commas, with percent-encoded values`,
  parse: (text) => {
    const elements = text.split(',').filter((element) => element.trim() !== '')
    if (text.length > pairsCharsMax || elements.length > pairsMax) return undefined
    const found = elements.map(pairOf).filter((pair) => pair !== undefined)
    return found.length === elements.length ? Object.fromEntries(found) : undefined
  },
  show: (value) =>
    Object.entries(value)
      .map(([key, text]) => `${key}=${encodeURIComponent(text)}`)
      .join(','),
}

function pairOf(element: string): [string, string] | undefined {
  const [, key, encoded] = pairForm.exec(element) ?? []
  if (key === undefined || encoded === undefined) return undefined
  try {
    const value = decodeURIComponent(encoded)
    return /\p{Cc}/u.test(value) ? undefined : [key, value]
  } catch {
    return undefined
  }
}

export const secretPairs: ValueForm<Readonly<Record<string, string>>> = { ...pairs, secret: true }

/** An address without the credentials it may carry. */
export const withoutCredentials = (text: string): string => text.replace(/(^|\/\/)[^/\s]*@/g, '$1***@')
