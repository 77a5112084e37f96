import { createHash, hash } from 'node:crypto'
import { monotonicFactory } from 'ulid'
import { now, randomBelow } from './clock.js'

/** The generator's own source of randomness asks the operating system for each character. */
const nextUlid = monotonicFactory(() => randomBelow(2 ** 32) / 2 ** 32)

/** A new id: the prefix of its kind and a ULID, so ids sort by creation time and increase within a process. */
export const newId = (prefix: string): string => `${prefix}${nextUlid(now())}`

const suffix = /^[0-9A-Za-z]{1,64}$/

/** Is `text` formatted as an id with this prefix? Suffixes of other implementations are accepted: they are opaque. */
export const isId = (prefix: string, text: string): boolean =>
  text.startsWith(prefix) && suffix.test(text.slice(prefix.length))

/** 128 bits of SHA-256 over the parts, base64url. Length prefixes keep the parts apart. */
export function hash128(...parts: readonly string[]): string {
  const text = parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('')
  return hash('sha256', text, 'base64url').slice(0, 22)
}

/** 128 bits of SHA-256 over bytes and a text that describes them, base64url. */
export const hashBytes128 = (bytes: Uint8Array, about: string): string =>
  createHash('sha256')
    .update(`${Buffer.byteLength(about)}:${about}`)
    .update(bytes)
    .digest('base64url')
    .slice(0, 22)

/** The stored form of a bearer token. Tokens are random, so a plain SHA-256 can't be reversed by search. */
export const hashToken = (token: string): string => hash('sha256', token, 'base64url')
