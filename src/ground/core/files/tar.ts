/**
 * Archives in the format ustar (POSIX.1-1988), which every tar reads: as much of it as Weir writes, files with short names.
 * A library would bring native modules with it.
 */

const blockBytes = 512
const nameBytesMax = 100
/** Eleven octal digits. */
const sizeMax = 8 ** 11 - 1

interface TarFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** The header and the bytes of a file. `modifiedMs`: since the epoch. */
export function tarEntry({ name, bytes }: TarFile, modifiedMs: number): Buffer {
  if (Buffer.byteLength(name) > nameBytesMax || bytes.length > sizeMax)
    throw new Error(`${name} does not fit into an archive: its name or its content is too long.`)
  const header = Buffer.alloc(blockBytes)
  const octal = (value: number, at: number, digits: number): void =>
    void header.write(`${Math.floor(value).toString(8).padStart(digits, '0')}\0`, at, 'latin1')
  header.write(name, 0)
  octal(0o600, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(bytes.length, 124, 11)
  octal(modifiedMs / 1000, 136, 11)
  header.write('        0', 148, 'latin1')
  header.write('ustar\u000000', 257, 'latin1')
  header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return Buffer.concat([header, bytes, Buffer.alloc(paddingFor(bytes.length))])
}

/** What an archive ends with. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * blockBytes)

const paddingFor = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

/** The sum of all bytes, with spaces in the place of the sum. */
const checksumOf = (header: Buffer): number => header.reduce((sum, byte) => sum + byte, 0)

/** Throws if it is not a file of an archive. `undefined`: the end. */
export function readTarHeader(header: Buffer): { readonly name: string; readonly size: number } | undefined {
  if (header.every((byte) => byte === 0)) return undefined
  const text = (at: number, length: number): string => {
    const end = header.indexOf(0, at)
    return header.toString('utf8', at, end === -1 || end > at + length ? at + length : end)
  }
  const sum = Number.parseInt(text(148, 8), 8)
  const blanked = Buffer.from(header)
  blanked.fill(0x20, 148, 156)
  if (sum !== checksumOf(blanked)) throw new Error('a header of the archive is damaged')
  if (text(156, 1) !== '0') throw new Error(`${text(0, nameBytesMax)} is no plain file`)
  const [, size] = /^ *([0-7]{1,12}) *$/.exec(text(124, 12)) ?? []
  if (size === undefined) throw new Error(`the size of ${text(0, nameBytesMax)} in the archive is damaged`)
  return { name: text(0, nameBytesMax), size: Number.parseInt(size, 8) }
}

/** The bytes that a file of this size takes behind its header. */
export const tarRoomFor = (size: number): number => size + paddingFor(size)

export const tarHeaderBytes = blockBytes
