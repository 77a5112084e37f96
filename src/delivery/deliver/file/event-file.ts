/**
 * A file of lines that several processes append to, without a lock: a lock would outlive a host that dies with it.
 *
 * - A request is one `write` with O_APPEND. The lines of two processes never mix, because a local file system writes one
 *   after the other. Before it is accepted, it is synced to the disk.
 * - A file that is full or old is **rotated**: renamed, and the next request creates another one. A process may still have
 *   the old one open. So each request looks, when its lines are written, whether the file still has its name; if not, it is
 *   sent again. What happens to a rotated file can't lose accepted events then: they were in it when it was renamed.
 * - A process that is killed, or a full disk, can leave a **torn** line at the end. The next request sees it and rotates the
 *   file; the torn line, which was never accepted, is cut off there. If a line is torn after that look, the request sees
 *   afterwards that its own lines do not begin at a line of their own, and is sent again.
 */
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { now, sleep } from '../../../ground/core/clock.js'
import type { AccountSpace } from './account-space.js'
import { FileFault, notADirectory, notAFile } from './file-fault.js'
import { RotatedFiles, type Rotation, rotatedName } from './rotated-files.js'

/** A file that is a link, or a pipe, is not opened, nor waited for. */
const flags =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK
const existing = flags & ~constants.O_CREAT
const fileMode = 0o640
const directoryMode = 0o750

/** A line without an end is torn if it does not grow within this time: a large `write` is seen while it grows. */
const tornAfterMs = 20
/** Each try rotates the file, or finds that another process did. */
const triesMax = 5
const lineFeed = 0x0a

const noSpace: ReadonlySet<string> = new Set<FileFault['code']>(['FileSpaceUsed', 'DiskAlmostFull'])

const rotatedMeanwhile = () =>
  new FileFault('Rotated', 'The file was rotated by another process while it was written.')

interface FileEnd {
  readonly bytes: number
  readonly isTorn: boolean
}

export class EventFile {
  readonly #directory: string
  readonly #name: string
  readonly #rotation: Rotation
  readonly #rotated: RotatedFiles
  readonly #space: AccountSpace
  /** The file whose name is known to be on the disk. */
  #named = ''
  #writing: Promise<unknown> = Promise.resolve()

  /** `directory` has a parent that exists; it is created itself. */
  constructor(directory: string, name: string, rotation: Rotation, space: AccountSpace) {
    this.#directory = directory
    this.#name = name
    this.#rotation = rotation
    this.#rotated = new RotatedFiles(directory, name, rotation)
    this.#space = space
  }

  get #path(): string {
    return join(this.#directory, this.#name)
  }

  /** Whole lines, one request after the other. Rejects unless all of them are on the disk. */
  append(lines: Buffer, signal: AbortSignal): Promise<void> {
    const appended = this.#writing.then(() => this.#append(lines, signal))
    this.#writing = appended.catch(() => {})
    return appended
  }

  async #append(lines: Buffer, signal: AbortSignal): Promise<void> {
    await this.#openDirectory()
    const append = () => this.#space.within(lines.length, () => this.#appendLines(lines, signal))
    try {
      await append()
    } catch (error) {
      if (!(error instanceof FileFault && noSpace.has(error.code))) throw error
      await this.#makeSpace(lines.length)
      await append()
    }
  }

  /** A rotation that is due deletes the oldest file, and fewer files may be kept than before. */
  async #makeSpace(bytes: number): Promise<void> {
    const file = await open(this.#path, existing).catch(ignoreMissing)
    if (file !== undefined) {
      await using found = file
      const { size } = await found.stat()
      if ((await this.#isDue(found, size + bytes)) && (await this.#isCurrent(found))) await this.#rotate()
    }
    await this.#rotated.deleteOld()
    await this.#space.measure()
  }

  async #appendLines(lines: Buffer, signal: AbortSignal): Promise<void> {
    for (let tries = 0; tries < triesMax; tries += 1) {
      signal.throwIfAborted()
      await using file = await open(this.#path, flags, fileMode)
      if (!(await file.stat()).isFile()) throw notAFile()
      const end = await endOf(file)
      if (!end.isTorn && !(await this.#isDue(file, end.bytes + lines.length))) {
        return await this.#write(file, end.bytes, lines)
      }
      if (await this.#isCurrent(file)) await this.#rotate()
    }
    throw rotatedMeanwhile()
  }

  async #openDirectory(): Promise<void> {
    try {
      await mkdir(this.#directory, { mode: directoryMode })
      await syncDirectory(dirname(this.#directory))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    if (!(await lstat(this.#directory)).isDirectory()) throw notADirectory()
  }

  async #isDue(file: FileHandle, bytes: number): Promise<boolean> {
    const { size, birthtimeMs } = await file.stat()
    if (size === 0) return false
    // A file system without times of birth says 0. One of a clock that was ahead must not wait until that time.
    const ageMs = birthtimeMs > 0 ? Math.abs(now() - birthtimeMs) : 0
    return bytes > this.#rotation.sizeMax || ageMs >= this.#rotation.ageMaxMs
  }

  async #write(file: FileHandle, before: number, lines: Buffer): Promise<void> {
    const { bytesWritten } = await file.write(lines)
    if (bytesWritten < lines.length) {
      throw new FileFault('ShortWrite', `Only ${bytesWritten} of ${lines.length} bytes could be written.`)
    }
    await file.datasync()
    await this.#syncName(file)
    const isWhole = await holdsWhole(file, before, lines)
    if (!isWhole || !(await this.#isCurrent(file))) throw rotatedMeanwhile()
  }

  /** Whichever process has created the file may have died since. */
  async #syncName(file: FileHandle): Promise<void> {
    const { ino, birthtimeNs } = await file.stat({ bigint: true })
    // The inode of a file that was deleted may be that of the next one.
    const named = `${ino} ${birthtimeNs}`
    if (named === this.#named && birthtimeNs > 0n) return
    await syncDirectory(this.#directory)
    this.#named = named
  }

  /** Does the file still have its name? */
  async #isCurrent(file: FileHandle): Promise<boolean> {
    const own = await file.stat({ bigint: true })
    const named = await lstat(this.#path, { bigint: true }).catch(ignoreMissing)
    return named?.ino === own.ino && named.dev === own.dev
  }

  async #rotate(): Promise<void> {
    await rename(this.#path, join(this.#directory, rotatedName(this.#name))).catch(ignoreMissing)
    this.#rotated.tidySoon()
  }
}

const ignoreMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}

/** Where the file ends, once no `write` is seen to be under way. */
async function endOf(file: FileHandle): Promise<FileEnd> {
  let { size: bytes } = await file.stat()
  for (let looks = 0; looks < triesMax; looks += 1) {
    if (bytes === 0 || (await readAt(file, bytes - 1, 1))[0] === lineFeed) return { bytes, isTorn: false }
    await sleep(tornAfterMs)
    const { size } = await file.stat()
    if (size === bytes) break
    bytes = size
  }
  return { bytes, isTorn: true }
}

/** Do the lines, written to the end of a file of `before` bytes, begin behind a line feed? */
async function holdsWhole(file: FileHandle, before: number, lines: Buffer): Promise<boolean> {
  const { size } = await file.stat()
  if (size === before + lines.length) return true
  // Other processes wrote in between.
  const start = Math.max(0, before - 1)
  const added = await readAt(file, start, size - start)
  const begin = added.indexOf(lines)
  return begin === 0 ? start === 0 : added[begin - 1] === lineFeed
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await directory.sync()
}
