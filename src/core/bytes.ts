/** The same memory with the methods of a Buffer. */
export const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** JSON that Weir wrote itself, so its type is believed. */
export const jsonOf = <T>(bytes: Uint8Array): T => JSON.parse(bufferOf(bytes).toString()) as T
