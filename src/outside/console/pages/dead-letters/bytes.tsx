/** The bytes of a dead letter: as text with the place marked, or in hexadecimal if they are no text. */
import type { WholeDeadLetter } from '../../../../words/shape/dead-letter.js'
import { number } from '../../data/texts/format.js'

type Stored = Pick<WholeDeadLetter, 'text' | 'base64' | 'place'>

/** More would make the page slow, and no one reads it here. */
const charactersMax = 100_000
const hexBytesMax = 16 * 1024

export function Bytes({ letter: { text, base64, place } }: { readonly letter: Stored }) {
  if (text === null) return <Hex data={bytesOf(base64 ?? '')} />
  const at = place === null ? undefined : charactersBefore(text, place.offset)
  if (at === undefined) return <pre class="bytes">{cut(text)}</pre>
  const from = Math.max(0, at - charactersMax / 2)
  const marked = markedAt(text, at)
  return (
    <pre class="bytes">
      {from > 0 && '… '}
      {text.slice(from, at)}
      <mark title={place?.member ?? 'The place that the reason names'}>
        {marked || '⏎ the text ends here'}
      </mark>
      {cut(text.slice(at + marked.length))}
    </pre>
  )
}

const cut = (text: string): string =>
  text.length <= charactersMax
    ? text
    : `${text.slice(0, charactersMax)}… and ${number(text.length - charactersMax)} more characters`

/** How many characters of JavaScript the first bytes of a text are. */
function charactersBefore(text: string, offset: number): number {
  const encoded = new TextEncoder().encode(text)
  return new TextDecoder().decode(encoded.subarray(0, offset)).length
}

/** The value that begins there: a text in quotes, a word or a number, or one character. */
function markedAt(text: string, at: number): string {
  const value = /^(?:"(?:[^"\\]|\\.)*"?|[\w.+-]+|.)/su.exec(text.slice(at, at + charactersMax))
  return value?.[0] ?? ''
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

const perLine = 16

/** `00000010  7b 22 …  {"`: as `hexdump -C` shows it. */
function Hex({ data }: { readonly data: Uint8Array }) {
  const shown = data.subarray(0, hexBytesMax)
  const lines = Array.from({ length: Math.ceil(shown.length / perLine) }, (_, index) =>
    hexLine(shown.subarray(index * perLine, (index + 1) * perLine), index * perLine),
  )
  const left = data.length - shown.length
  return (
    <>
      <p class="quiet">The bytes are not UTF-8, so they are shown in hexadecimal.</p>
      <div class="scrolls">
        <pre class="bytes hex">{lines.join('\n')}</pre>
      </div>
      {left > 0 && <p class="quiet">and {number(left)} more bytes</p>}
    </>
  )
}

function hexLine(data: Uint8Array, offset: number): string {
  const pairs = [...data].map((byte) => byte.toString(16).padStart(2, '0'))
  const printed = [...data].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'))
  return `${offset.toString(16).padStart(8, '0')}  ${pairs.join(' ').padEnd(perLine * 3)} ${printed.join('')}`
}
