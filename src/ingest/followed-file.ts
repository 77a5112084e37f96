/**
 * Reads a log as it grows, across rotations: a file that was renamed is read to its end before the new one is begun, one
 * that was truncated is read from its beginning. A **position** says how far a file was read, and recognizes the file by
 * its first bytes wherever it was moved or copied to, so nothing is missing after a restart.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { now, sleep } from '../core/clock.js'
import { StartFault } from '../core/errors.js'
import { LineSplitter, type RawLine } from './line-splitter.js'

export interface Position {
  /** Bytes that were read. */
  readonly offset: number
  /** The hash of its first bytes, up to 512 of those that were read. */
  readonly head: string
  /** The number of the file, which recognizes it as long as nothing was read. */
  readonly inode: number
}

export interface FollowedLine extends RawLine {
  /** Where the line begins in its file. */
  readonly offset: number
  /** After the line. */
  readonly position: () => Position
}

interface FollowOptions {
  readonly from: Position | undefined
  /** Without a position: begin at the end of the file instead of its beginning. */
  readonly fromEnd: boolean
  readonly signal: AbortSignal
  /** Where reading begins, without a position. */
  readonly begins: (at: Position) => void
  /** Tells an operator what happened to the file. */
  readonly note: (text: string) => void
  /** A renamed file is still written to until its writer opens the new one: it is left after so long without a byte. */
  readonly lingerMs?: number
}

const lookEveryMs = 200
const headBytesMax = 512
const chunkBytes = 256 * 1024

/** Ends when the signal is aborted. */
export async function* followFile(path: string, options: FollowOptions): AsyncGenerator<FollowedLine> {
  const { signal, note } = options
  let from = options.from
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const parts = from === undefined ? [] : await filesSince(path, from)
    // A file that was read to its end may be gone.
    if (isFirst && from !== undefined && parts.length === 0)
      note('The file that was read last is no longer there: what was written to it since is missing.')
    const current = parts.pop() ?? (await newFile(path, options, from === undefined))
    for (const part of parts) yield* rest(part, options)
    if (current === undefined) return
    from = yield* followed(path, current, options)
  }
}

interface Part {
  readonly file: FileHandle
  readonly offset: number
}

/** The file of this name, once it is there, from its beginning; or, at the very first, from its end if that is asked for. */
async function newFile(
  path: string,
  { signal, fromEnd, begins }: FollowOptions,
  isVeryFirst: boolean,
): Promise<Part | undefined> {
  const file = await opened(path, signal)
  if (file === undefined) return undefined
  const offset = fromEnd && isVeryFirst ? (await file.stat()).size : 0
  begins(positionIn(await markOf(file), offset))
  return { file, offset }
}

/** The file of the position, those that were begun since, and the current one last; none if it is gone. */
async function filesSince(path: string, from: Position): Promise<Part[]> {
  const names = await rotated(path)
  const at = await indexOf(names, from)
  if (at === -1) return []
  const parts: Part[] = []
  for (const [index, name] of names.slice(at).entries())
    parts.push({ file: await open(name, 'r'), offset: index === 0 ? from.offset : 0 })
  return parts
}

/** What rotation puts behind a name, or before its extension: a number or a date. */
const rotation = /^[.-][\w.:-]*\d[\w.:-]*$/
const compressed = /\.(?:gz|bz2|xz|zst)$/

/** Is it a file that rotation made of this one: `access.log.1`, `access.log-20261120`, `access-2026-11-20.log`? */
function isRotated(name: string, other: string): boolean {
  if (compressed.test(other)) return false
  if (other.startsWith(name)) return rotation.test(other.slice(name.length))
  const extension = extname(name)
  const stem = name.slice(0, name.length - extension.length)
  if (extension === '' || !other.startsWith(stem) || !other.endsWith(extension)) return false
  return rotation.test(other.slice(stem.length, other.length - extension.length))
}

/** The files that rotation made of this one, the oldest first, and the current one last. */
async function rotated(path: string): Promise<string[]> {
  const [dir, name] = [dirname(path), basename(path)]
  const others = (await readdir(dir))
    .filter((other) => isRotated(name, other))
    .map((other) => join(dir, other))
  const found = await Promise.all(
    others.map(async (other) => {
      const state = await stat(other).catch(() => undefined)
      return state?.isFile() ? [{ other, ms: state.mtimeMs }] : []
    }),
  )
  const sorted = found
    .flat()
    .toSorted((a, b) => a.ms - b.ms)
    .map(({ other }) => other)
  return (await exists(path)) ? [...sorted, path] : sorted
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** The newest of these that the position is of. */
async function indexOf(paths: readonly string[], from: Position): Promise<number> {
  for (let at = paths.length - 1; at >= 0; at -= 1) {
    const file = await open(paths[at]!, 'r').catch(() => undefined)
    if (file === undefined) continue
    try {
      const { head, inode } = positionIn(await markOf(file), from.offset)
      const isLongEnough = (await file.stat()).size >= from.offset
      if (isLongEnough && head === from.head && (from.offset > 0 || inode === from.inode)) return at
    } finally {
      await file.close()
    }
  }
  return -1
}

/** What a file is recognized by. It is kept, because a position may be asked for when the file is closed. */
interface Mark {
  readonly head: Buffer
  readonly inode: number
}

async function markOf(file: FileHandle): Promise<Mark> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytesMax), 0, headBytesMax, 0)
  return { head: buffer.subarray(0, bytesRead), inode: (await file.stat()).ino }
}

const positionIn = ({ head, inode }: Mark, offset: number): Position => ({
  offset,
  head: createHash('sha256').update(head.subarray(0, offset)).digest('base64url'),
  inode,
})

/** The file, once it is there. */
async function opened(path: string, signal: AbortSignal): Promise<FileHandle | undefined> {
  while (!signal.aborted) {
    try {
      const file = await open(path, 'r')
      if ((await file.stat()).isFile()) return file
      await file.close()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        await sleep(lookEveryMs, signal)
        continue
      }
      throw new StartFault(`${path} can't be read: ${(error as Error).message}`)
    }
    throw new StartFault(`${path} is not a file.`)
  }
  return undefined
}

const lingerUsualMs = 5_000

/** Lines of the current file as they come. Returns how far it was read when another one has its name. */
async function* followed(
  path: string,
  { file, offset }: Part,
  { signal, note, lingerMs = lingerUsualMs }: FollowOptions,
): AsyncGenerator<FollowedLine, Position | undefined> {
  const reader = new FileReader(file, offset, await markOf(file))
  let silentMs = 0
  while (!signal.aborted) {
    let isSilent = true
    for await (const line of reader.lines(signal)) {
      isSilent = false
      yield line
    }
    silentMs = isSilent ? silentMs + lookEveryMs : 0
    const state = await stateOf(path, reader)
    if (state === 'truncated') {
      note(`${path} was truncated: it is read from its beginning.`)
      reader.restart()
    } else if (state === 'replaced' && silentMs >= lingerMs) {
      yield* reader.unfinished()
      await reader.close()
      return reader.position()
    }
    await sleep(lookEveryMs, signal)
  }
  await reader.close()
  return undefined
}

async function stateOf(path: string, reader: FileReader): Promise<'same' | 'truncated' | 'replaced'> {
  const current = await stat(path).catch(() => undefined)
  if (current === undefined) return 'same'
  const own = await reader.file.stat()
  if (current.ino !== own.ino || current.dev !== own.dev) return 'replaced'
  return current.size < reader.readBytes ? 'truncated' : 'same'
}

/** What is left of a file that was renamed. Its writer may not have noticed yet. */
async function* rest(
  { file, offset }: Part,
  { signal, lingerMs = lingerUsualMs }: FollowOptions,
): AsyncGenerator<FollowedLine> {
  const reader = new FileReader(file, offset, await markOf(file))
  for (;;) {
    yield* reader.lines(signal)
    if (signal.aborted || now() - (await file.stat()).mtimeMs > lingerMs) break
    await sleep(lookEveryMs, signal)
  }
  if (!signal.aborted) yield* reader.unfinished()
  await reader.close()
}

class FileReader {
  readonly file: FileHandle
  /** How far the file was read, and where the next line begins. */
  readBytes: number
  #lineStart: number
  #splitter = new LineSplitter()
  #mark: Mark
  readonly #chunk = Buffer.allocUnsafe(chunkBytes)

  constructor(file: FileHandle, offset: number, mark: Mark) {
    this.file = file
    this.#mark = mark
    this.readBytes = offset
    this.#lineStart = offset
  }

  /** Those that are there now and have ended. */
  async *lines(signal: AbortSignal): AsyncGenerator<FollowedLine> {
    while (!signal.aborted) {
      const { bytesRead } = await this.file.read(this.#chunk, 0, chunkBytes, this.readBytes)
      if (bytesRead === 0) return
      if (this.#mark.head.length < headBytesMax) this.#mark = await markOf(this.file)
      this.readBytes += bytesRead
      // Copied: the splitter keeps the beginning of a line.
      for (const line of this.#splitter.push(Buffer.from(this.#chunk.subarray(0, bytesRead))))
        yield this.#followed(line)
    }
  }

  /** The last line of a file that gets no more bytes, if it has no line break. */
  *unfinished(): Generator<FollowedLine> {
    const line = this.#splitter.rest()
    if (line !== undefined) yield this.#followed(line)
  }

  position(): Position {
    return positionIn(this.#mark, this.#lineStart)
  }

  restart(): void {
    this.readBytes = 0
    this.#lineStart = 0
    this.#splitter = new LineSplitter()
    this.#mark = { ...this.#mark, head: Buffer.alloc(0) }
  }

  close(): Promise<void> {
    return this.file.close()
  }

  #followed(line: RawLine): FollowedLine {
    const offset = this.#lineStart
    this.#lineStart += line.byteLength
    const [end, mark] = [this.#lineStart, this.#mark]
    return { ...line, offset, position: () => positionIn(mark, end) }
  }
}
