/**
 * Names of certificates as programs write them: RFC 2253 and its successor, RFC 4514 (nginx from 1.11.6 on, Go, Envoy,
 * Apache), with what they demand that readers take (RFC 1779: quotes, `;`, spaces around separators); and the older form
 * of OpenSSL, `/O=Example/CN=alice`.
 */

/**
 * The common name closest to the holder, if there are several: the first of RFC 2253, which begins there; the last of `/`.
 */
export const commonNameOf = (name: string): string | undefined =>
  name.startsWith('/') ? ofSlashForm(name) : ofRfc2253(name)

/** Its number stands for it if a program does not know the type by name (X.520). */
const commonNameType = /^(?:CN|(?:OID\.)?2\.5\.4\.3)$/i

// --- RFC 2253 ---

const typeForm = /\s*([A-Za-z][\w.-]*|\d+(?:\.\d+)*)\s*=\s*/y
const quotedForm = /"((?:[^"\\]|\\.)*)"/sy
const plainForm = /(?:[^\\,;+]|\\.)*/sy
const separator = /[,;+]/g

function ofRfc2253(name: string): string | undefined {
  for (let at = 0; at < name.length; ) {
    const type = matchAt(typeForm, name, at)
    const valueAt = at + (type?.[0].length ?? 0)
    const quoted = type && matchAt(quotedForm, name, valueAt)
    const plain = quoted ? '' : (matchAt(plainForm, name, valueAt)?.[0] ?? '')
    if (commonNameType.test(type?.[1] ?? '')) return quoted ? unescaped(quoted[1] ?? '') : plainValue(plain)
    separator.lastIndex = valueAt + (quoted?.[0].length ?? plain.length)
    at = separator.test(name) ? separator.lastIndex : name.length
  }
  return undefined
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | undefined {
  form.lastIndex = at
  return form.exec(text) ?? undefined
}

/** Spaces behind a value are its own only if the last one is escaped. */
function plainValue(plain: string): string {
  const end = plain.trimEnd()
  // An odd number of backslashes at the end escapes what was cut.
  const isEscaped = /(?:^|[^\\])(?:\\\\)*\\$/.test(end)
  const text = isEscaped ? plain.slice(0, end.length + 1) : end
  return textOfDer(text) ?? unescaped(text)
}

/** `\,` is the character; `\C3\A9` are bytes of UTF-8. */
const unescaped = (text: string): string =>
  text.replace(/(?:\\[\dA-Fa-f]{2})+|\\(.)/gs, (run, char: string | undefined) =>
    char === undefined ? Buffer.from(run.replaceAll('\\', ''), 'hex').toString() : char,
  )

const decoders: Readonly<Record<number, (bytes: Buffer) => string>> = {
  12: (bytes) => bytes.toString(),
  19: (bytes) => bytes.toString('latin1'),
  20: (bytes) => bytes.toString('latin1'),
  22: (bytes) => bytes.toString('latin1'),
  // BMPString has its bytes in the other order.
  30: (bytes) =>
    Buffer.from(bytes.subarray(0, bytes.length & ~1))
      .swap16()
      .toString('utf16le'),
}

/** `#0C05416C696365`: a value in DER, by the tags of X.680. Undefined if it is none, or of a type that is no text. */
function textOfDer(text: string): string | undefined {
  const hex = /^#((?:[\dA-Fa-f]{2})+)$/.exec(text)?.[1]
  if (hex === undefined) return undefined
  const bytes = Buffer.from(hex, 'hex')
  const [tag = 0, first = 0] = bytes
  // Lengths from 128 on have their own number of bytes first.
  const lengthBytes = first < 128 ? 0 : first - 128
  const start = 2 + lengthBytes
  const length = lengthBytes === 0 ? first : Number.parseInt(bytes.subarray(2, start).toString('hex'), 16)
  return start + length === bytes.length ? decoders[tag]?.(bytes.subarray(start)) : undefined
}

// --- the form with slashes ---

/**
 * OpenSSL 1 does not escape a slash in a value, so only what looks like a type begins another one. OpenSSL 3 writes `\/` and
 * `\+`.
 */
const slashes = /(?<!\\)\/(?=(?:[A-Za-z][\w.-]*|\d+(?:\.\d+)+)=)/

function ofSlashForm(name: string): string | undefined {
  const names = name.split(slashes).flatMap((part) => {
    const end = part.indexOf('=')
    return commonNameType.test(part.slice(0, end)) ? [part.slice(end + 1)] : []
  })
  // Bytes beyond ASCII, as X509_NAME_oneline writes them.
  return names
    .at(-1)
    ?.replace(/(?:\\x[\dA-Fa-f]{2})+|\\([/+])/g, (run, char: string | undefined) =>
      char === undefined ? Buffer.from(run.replaceAll('\\x', ''), 'hex').toString() : char,
    )
}
