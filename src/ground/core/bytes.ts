/** The same memory with the methods of a Buffer. */
export const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** JSON that Weir wrote itself, so its type is believed. */
export const jsonOf = <T>(bytes: Uint8Array): T => JSON.parse(bufferOf(bytes).toString()) as T

/** The bytes of a text in UTF-8, as `Buffer.byteLength` counts them: for code that browsers run, too. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit <= 0x7f) continue
    bytes += unit <= 0x7ff ? 1 : 2
    // A pair of surrogates has four bytes, one alone has three.
    const isHigh = unit >= 0xd800 && unit <= 0xdbff
    const next = isHigh ? text.charCodeAt(index + 1) : 0
    if (next >= 0xdc00 && next <= 0xdfff) index += 1
  }
  return bytes
}
