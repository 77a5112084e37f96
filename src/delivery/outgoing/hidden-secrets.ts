/** Secrets of a destination in what its server says: a server may repeat a request, and others read its answers. */
import type { HttpAnswer } from './http-client.js'

/** Replaces these texts, however they are written, by `…`. */
export type Hide = (text: string) => string

/** The forms in which servers write a text of a request. */
const formsOf = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  encodeURIComponent(secret).replaceAll('%20', '+'),
  Buffer.from(secret).toString('base64'),
  Buffer.from(secret).toString('base64url'),
]

export function hiding(secrets: readonly string[]): Hide {
  // The longest first: one may be a part of another.
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((one, other) => other.length - one.length)
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, '…'), text)
}

/** The answer with nothing to hide but in its body. */
export function withHiddenHead(answer: HttpAnswer, hide: Hide): HttpAnswer {
  const shown = Object.entries(answer.headers).map(([name, value]) => [
    name,
    typeof value === 'string' ? hide(value) : value,
  ])
  return { ...answer, statusText: hide(answer.statusText), headers: Object.fromEntries(shown) }
}
