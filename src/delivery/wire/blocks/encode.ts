/** Numbers and texts as bytes; each function returns where they end. */

/** Bytes of a text's length at most. */
export const lengthBytesMax = 5
/** Bytes of UTF-8 of a UTF-16 code unit at most. */
export const bytesPerChar = 3
const twoTo32 = 2 ** 32

export function writeUint64(bytes: Buffer, start: number, value: number): number {
  bytes.writeUInt32LE(value % twoTo32, start)
  return bytes.writeUInt32LE(Math.floor(value / twoTo32), start + 4)
}

/** LEB128. */
export function writeCount(bytes: Buffer, start: number, value: number): number {
  let [rest, end] = [value, start]
  for (; rest > 0x7f; rest >>>= 7) bytes[end++] = (rest & 0x7f) | 0x80
  bytes[end++] = rest
  return end
}

/** UTF-8, after its length in bytes. */
export function writeText(bytes: Buffer, start: number, text: string): number {
  if (text.length > 0x7f / bytesPerChar) {
    const textStart = writeCount(bytes, start, Buffer.byteLength(text))
    return textStart + bytes.write(text, textStart)
  }
  // Short and mostly ASCII: copied here, it takes a third of the time of a call of `write`.
  let length = text.length
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index)
    if (code > 0x7f) {
      length = bytes.write(text, start + 1)
      break
    }
    bytes[start + 1 + index] = code
  }
  bytes[start] = length
  return start + 1 + length
}

export function writeUint64s(bytes: Buffer, start: number, values: Float64Array): number {
  const halves = new Uint32Array(2 * values.length)
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]!
    // The remainder of 2^32 is taken, and fractions are cut off, as the array stores them.
    halves[2 * index] = value
    halves[2 * index + 1] = value / twoTo32
  }
  return writeArray(bytes, start, halves)
}

/** The numbers as they are in memory. */
export function writeArray(
  bytes: Buffer,
  start: number,
  { buffer, byteOffset, byteLength }: Uint8Array | Uint16Array | Uint32Array,
): number {
  bytes.set(new Uint8Array(buffer, byteOffset, byteLength), start)
  return start + byteLength
}
