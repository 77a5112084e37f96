import { createHash } from 'node:crypto'
import { monotonicFactory } from 'ulid'

const nextUlid = monotonicFactory()

/** A new id: the prefix of its kind and a ULID, so that ids sort by creation and increase within a process. */
export const newId = (prefix: string): string => `${prefix}${nextUlid()}`

const suffix = /^[0-9A-Za-z]{1,64}$/

/** Has `text` the form of an id with this prefix? Other implementations' suffixes pass: they are opaque. */
export const isId = (prefix: string, text: string): boolean =>
  text.startsWith(prefix) && suffix.test(text.slice(prefix.length))

/** 128 bits of SHA-256 over the parts, base64url; a part never runs into the next. */
export function hash128(...parts: readonly string[]): string {
  const text = parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('')
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** 128 bits of SHA-256 over bytes and a text about them, base64url. */
export const hashBytes128 = (bytes: Uint8Array, about: string): string =>
  createHash('sha256')
    .update(`${Buffer.byteLength(about)}:${about}`)
    .update(bytes)
    .digest('base64url')
    .slice(0, 22)

/** What is kept of a bearer token: it is random, so a plain SHA-256 can't be searched backwards. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('base64url')
