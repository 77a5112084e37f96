/**
 * A file of a log as it is read: lines, positions, and what a file is recognized by. Compressed ones are read as what is in
 * them.
 */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { LineSplitter, type RawLine } from './lines/line-splitter.js'

export interface Position {
  /** Bytes that were read; of a compressed file, of what is in it. */
  readonly offset: number
  /** The hash of its first bytes, up to 512 of those that were read. */
  readonly head: string
  /** The number of the file, which recognizes it as long as nothing was read. */
  readonly inode: number
  /** When the file was last written to, as of the last read. Positions of older versions have none. */
  readonly readMs?: number
}

export interface FollowedLine extends RawLine {
  /** Where the line begins in its file. */
  readonly offset: number
  /** After the line. */
  readonly position: () => Position
}

const headBytesMax = 512
const chunkBytes = 256 * 1024

/** The identity of a file. It is kept, because a position may be asked for when the file is closed. */
interface Mark {
  readonly head: Buffer
  readonly inode: number
  readonly modifiedMs: number
  readonly isGzip: boolean
}

export async function markOf(file: FileHandle): Promise<Mark> {
  const { ino, mtimeMs } = await file.stat()
  const zipped = await isGzip(file)
  return { head: await headOf(file, zipped), inode: ino, modifiedMs: mtimeMs, isGzip: zipped }
}

/** By its first bytes (RFC 1952): no log begins so. */
export async function isGzip(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
}

async function headOf(file: FileHandle, zipped: boolean): Promise<Buffer> {
  if (!zipped) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytesMax), 0, headBytesMax, 0)
    return buffer.subarray(0, bytesRead)
  }
  let head = Buffer.alloc(0)
  try {
    for await (const chunk of inflated(file)) {
      head = Buffer.concat([head, chunk as Buffer])
      if (head.length >= headBytesMax) break
    }
  } catch {
    // Damaged: what can be read of it is its head, and reading it says so.
  }
  return head.subarray(0, headBytesMax)
}

function inflated(file: FileHandle): Readable {
  // A stream of the file itself would close it when an iteration ends early.
  const source = Readable.from(chunksOf(file))
  // A read that ends after the iteration, and after the file was closed, fails, and no one waits for it.
  source.on('error', () => {})
  // Its errors are those of the iteration.
  return pipeline(source, createGunzip(), () => {})
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

export const positionIn = ({ head, inode, modifiedMs }: Mark, offset: number): Position => ({
  offset,
  head: createHash('sha256').update(head.subarray(0, offset)).digest('base64url'),
  inode,
  readMs: modifiedMs,
})

export class FileReader {
  readonly file: FileHandle
  /** How far the file was read, and where the next line begins. */
  readBytes: number
  #lineStart: number
  readonly #splitter = new LineSplitter()
  #mark: Mark
  readonly #chunk = Buffer.allocUnsafe(chunkBytes)

  constructor(file: FileHandle, offset: number, mark: Mark) {
    this.file = file
    this.#mark = mark
    this.readBytes = offset
    this.#lineStart = offset
  }

  /** Those that are there now and have ended, in lists: each wait costs as much as a line. */
  async *lines(signal: AbortSignal): AsyncGenerator<readonly FollowedLine[]> {
    while (!signal.aborted) {
      const { bytesRead } = await this.file.read(this.#chunk, 0, chunkBytes, this.readBytes)
      if (bytesRead === 0) return
      await this.#look()
      // Copied: the splitter keeps the beginning of a line.
      yield* this.#lines(Buffer.from(this.#chunk.subarray(0, bytesRead)))
    }
  }

  /** Those of a compressed file, to its end. Throws if it is damaged. */
  async *inflatedLines(signal: AbortSignal): AsyncGenerator<readonly FollowedLine[]> {
    let left = this.readBytes
    for await (const chunk of inflated(this.file)) {
      if (signal.aborted) return
      const bytes = (chunk as Buffer).subarray(left)
      left = Math.max(0, left - (chunk as Buffer).length)
      yield* this.#lines(bytes)
    }
  }

  /** The last line of a file that gets no more bytes, if it has no line break. */
  *unfinished(): Generator<readonly FollowedLine[]> {
    const line = this.#splitter.rest()
    if (line !== undefined) yield [this.#followed(line)]
  }

  position(): Position {
    return positionIn(this.#mark, this.#lineStart)
  }

  /** Does the file begin with other bytes than it did? Then it was truncated and written again. */
  async hasOtherHead(): Promise<boolean> {
    const known = this.#mark.head.subarray(0, this.readBytes)
    return !(await headOf(this.file, false)).subarray(0, known.length).equals(known)
  }

  close(): Promise<void> {
    return this.file.close()
  }

  *#lines(bytes: Buffer): Generator<readonly FollowedLine[]> {
    this.readBytes += bytes.length
    const lines = Array.from(this.#splitter.push(bytes), (line) => this.#followed(line))
    if (lines.length > 0) yield lines
  }

  /** A head grows until it is whole. */
  async #look(): Promise<void> {
    const modifiedMs = (await this.file.stat()).mtimeMs
    const head = this.#mark.head.length < headBytesMax ? await headOf(this.file, false) : this.#mark.head
    this.#mark = { ...this.#mark, head, modifiedMs }
  }

  #followed(line: RawLine): FollowedLine {
    const offset = this.#lineStart
    this.#lineStart += line.byteLength
    const [end, mark] = [this.#lineStart, this.#mark]
    return { ...line, offset, position: () => positionIn(mark, end) }
  }
}
