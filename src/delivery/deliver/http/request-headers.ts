/** Headers that an account may choose for the requests of its destination. */
import { shown } from '../../../ground/core/errors.js'
import { documented, ruled, Type } from '../../../ground/core/schema.js'

export const headersMax = 32

/** A token of RFC 9110, https://www.rfc-editor.org/rfc/rfc9110#name-tokens */
const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/

/** Headers of the connection, of the body and of signatures, which Weir itself sets or never sends. */
const reserved =
  /^(host|content-.+|transfer-encoding|connection|keep-alive|proxy-.+|te|trailer|upgrade|expect|http2-settings|webhook-.+)$/i

const secretNames = /authorization|cookie|token|secret|password|api-?key/i

/** Does its name say that its value is a secret? */
export const isSecretHeader = (name: string): boolean => secretNames.test(name)

/** The problem with a header's value; the sentence does not repeat it. */
export const headerTextRule = (text: string): string | undefined =>
  /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/.test(text)
    ? undefined
    : 'printable ASCII characters are allowed, without white space at its ends'

export const headerText = (charsMax: number, description = '') =>
  ruled(
    Type.String({
      minLength: 1,
      maxLength: charsMax,
      description,
      ...documented({ pattern: '^[\\t -~]+$' }),
    }),
    headerTextRule,
  )

type Headers = Readonly<Record<string, string | null | undefined>> | null | undefined

interface GivenHeaders {
  readonly headers?: Headers
  readonly secret_headers?: Headers
}

/** The problem with the names of headers; the sentence continues after the target's name. */
export function brokenHeaders(
  { headers, secret_headers }: GivenHeaders,
  isAuthorized: boolean,
): string | undefined {
  const seen = new Set(isAuthorized ? ['authorization'] : [])
  for (const [member, names] of [
    ['headers', Object.keys(headers ?? {})],
    ['secret_headers', Object.keys(secret_headers ?? {})],
  ] as const) {
    for (const name of names) {
      const has = `has the header ${shown(name)} in "${member}"`
      if (!nameForm.test(name)) return `${has}, which is not the name of a header`
      if (/^content-type$/i.test(name)) return `${has}: give it as "content_type"`
      if (reserved.test(name)) return `${has}, which Weir does not let destinations choose`
      if (member === 'headers' && isSecretHeader(name))
        return `${has}, which looks like a secret: give it in "secret_headers"`
      if (seen.has(name.toLowerCase())) return `${has}, but also elsewhere`
      seen.add(name.toLowerCase())
    }
  }
  return undefined
}
