/** Dead letters: the original bytes, with the reason and the origin in the headers. */
import { payloadHeadroomBytes } from '../core/limits.js'
import { deadLetterHeaders } from './names.js'

const reasonCharsMax = 500

interface DeadLetter {
  readonly data: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Header values are one line of printable text. */
const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, reasonCharsMax)

/** `texts` become headers, reduced to printable text; bytes that do not fit a message are truncated. */
export function deadLetter(
  bytes: Uint8Array,
  texts: Readonly<Record<string, string>>,
  payloadBytesMax: number,
): DeadLetter {
  const room = payloadBytesMax - payloadHeadroomBytes
  const headers = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, headerText(text)]))
  if (bytes.length <= room) return { data: bytes, headers }
  return {
    data: bytes.subarray(0, room),
    headers: { ...headers, [deadLetterHeaders.originalSize]: String(bytes.length) },
  }
}
