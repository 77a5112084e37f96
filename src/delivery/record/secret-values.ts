/** Values of requests that may be secrets: explanations show that there is one, and not which. */

/** Names of headers, cookies and parameters. */
const secretName =
  /auth|cookie|token|secret|passw|pwd|api[-_]?key|sess|signature|credential|jwt|^(?:key|sig|code|(?:connect\.)?sid|pin)$/i

/** `http.request.headers['authorization']`. */
const entry = /(headers|cookies|parameters)\['((?:[^'\\]|\\.)*)'\]$/

/** `token=…` in a query, a form or the target of a link. */
const pair = /(^|[?&;#\s])([^=?&;#\s]{1,100})=([^&;#\s]*)/g

/** Cookies that say who someone is are long. */
const plainCookieCharsMax = 11

/** `name`: as expressions write it. */
export function isSecret(name: string, value: string): boolean {
  const [, map, key = ''] = entry.exec(name) ?? []
  if (map === undefined) return false
  return secretName.test(key) || (map === 'cookies' && value.length > plainCookieCharsMax)
}

/** The value of a name as it may be shown: a secret is cut, and so are those in a query. */
export function withoutSecrets(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (isSecret(name, value)) return cut(value)
  return value.replaceAll(pair, (whole, before: string, key: string, text: string) =>
    secretName.test(decodedName(key)) && text !== '' ? `${before}${key}=…` : whole,
  )
}

/** The kind of credentials is no secret: `Bearer …`. */
function cut(value: string): string {
  const [, scheme = ''] = /^((?:Basic|Bearer|Digest|Negotiate|NTLM) )./i.exec(value) ?? []
  const { length } = value
  return length === 0 ? value : `${scheme}… (${length - scheme.length} characters)`
}

function decodedName(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
