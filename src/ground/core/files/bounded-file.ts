/**
 * Files that a person names by their paths. One that was named by mistake may be a device, which never ends, or a pipe that
 * no one writes to, so only files are read, and none that is too large.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { sizeText } from '../text/plural.js'

const chunkBytes = 64 * 1024

const excess = (bytesMax: number): string => `it is larger than ${sizeText(bytesMax)}`

/** Throws an `Error` that says why the file can't be read, but not its path. */
export function readBounded(path: string, bytesMax: number, tooLarge = excess(bytesMax)): Buffer {
  // Otherwise opening a pipe waits for a writer.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(fd)
    if (!found.isFile()) throw new Error('it is not a file')
    return bytesOf(fd, found.size, bytesMax, tooLarge)
  } finally {
    closeSync(fd)
  }
}

/** The same; `-` is standard input, which may be a pipe. */
export const readInput = (path: string, bytesMax: number, tooLarge = excess(bytesMax)): Buffer =>
  path === '-' ? bytesOf(0, 0, bytesMax, tooLarge) : readBounded(path, bytesMax, tooLarge)

/** Reads no more than is allowed: a file can grow, and the size of some is not known. */
function bytesOf(fd: number, size: number, bytesMax: number, tooLarge: string): Buffer {
  const chunks: Buffer[] = []
  for (let total = size > bytesMax ? size : 0; total <= bytesMax; ) {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    const length = readSync(fd, chunk)
    if (length === 0) return Buffer.concat(chunks)
    total += length
    chunks.push(chunk.subarray(0, length))
  }
  throw new Error(tooLarge)
}
