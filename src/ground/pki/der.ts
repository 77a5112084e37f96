/** Reads DER (ITU-T X.690), as far as certificates need it. */

/** The bytes are not valid DER. */
export class DerError extends Error {
  constructor() {
    super('The bytes are not valid DER.')
    this.name = 'DerError'
  }
}

interface DerValue {
  /** The identifier octet: class, whether it is constructed, and number. */
  readonly tag: number
  readonly content: Uint8Array
}

export const derTags = {
  boolean: 0x01,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  sequence: 0x30,
} as const

const highTagNumber = 0x1f
const longLength = 0x80
/** Lengths have up to four bytes: four gigabytes are enough. */
const lengthBytesMax = 4

/** The consecutive values in these bytes; throws a `DerError` if they are not valid DER. */
export function derValues(bytes: Uint8Array): readonly DerValue[] {
  const values: DerValue[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const tag = byteAt(bytes, offset)
    if ((tag & highTagNumber) === highTagNumber) throw new DerError()
    const { start, end } = extentOf(bytes, offset + 1)
    values.push({ tag, content: bytes.subarray(start, end) })
    offset = end
  }
  return values
}

/** Start and end of the content whose length is encoded at `offset`. */
function extentOf(bytes: Uint8Array, offset: number): { start: number; end: number } {
  const first = byteAt(bytes, offset)
  const count = first < longLength ? 0 : first - longLength
  // A length of no bytes is the indefinite one, which DER does not have.
  if (count > lengthBytesMax || first === longLength) throw new DerError()
  let length = count === 0 ? first : 0
  for (let each = 1; each <= count; each += 1) length = length * 256 + byteAt(bytes, offset + each)
  const start = offset + 1 + count
  if (start + length > bytes.length) throw new DerError()
  return { start, end: start + length }
}

function byteAt(bytes: Uint8Array, offset: number): number {
  const byte = bytes[offset]
  if (byte === undefined) throw new DerError()
  return byte
}

/** The values within a value that must have this tag. */
export const derMembers = (value: DerValue | undefined, tag: number): readonly DerValue[] =>
  derValues(derContent(value, tag))

/** The content of a value that must have this tag. */
export function derContent(value: DerValue | undefined, tag: number): Uint8Array {
  if (value?.tag !== tag) throw new DerError()
  return value.content
}

/** An object identifier in dotted form: `2.5.29.17`. */
export function derOid(value: DerValue | undefined): string {
  const arcs: number[] = []
  let arc = 0
  for (const byte of derContent(value, derTags.objectIdentifier)) {
    arc = arc * 128 + (byte & 0x7f)
    if (byte >= 0x80) continue
    arcs.push(arc)
    arc = 0
  }
  const [first, ...others] = arcs
  if (first === undefined) throw new DerError()
  // The first two arcs share a number; the second is below 40 under 0 and 1.
  const top = Math.min(2, Math.floor(first / 40))
  return [top, first - top * 40, ...others].join('.')
}

/** The numbers of the bits that are set: the first bit of a bit string is its number 0. */
export function derBits(value: DerValue | undefined): readonly number[] {
  const [, ...bytes] = derContent(value, derTags.bitString)
  return bytes.flatMap((byte, index) =>
    [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (byte & (0x80 >> bit)) !== 0).map((bit) => index * 8 + bit),
  )
}
