/**
 * The space that the files of an account may take: a bound of the operator on the bytes in its directory, and a reserve of
 * the disk that is left to other programs.
 *
 * All destinations of the account in this process share it. To look at every file with each request would cost too much, so
 * the directory is measured with the first one, when the bound seems to be reached, and whenever the process has written a
 * sixteenth of the bound since. Each further process may exceed the bound by that part.
 */
import { lstat, readdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { monotonicMs } from '../../../ground/core/clock.js'
import { sizeText } from '../../../ground/core/text/plural.js'
import { FileFault } from './file-fault.js'

const unmeasuredPart = 1 / 16
/** While an account has no space left, it is measured this often. */
const measuredAgainMs = 1_000

interface Reserve {
  /** A share of the disk. */
  readonly part: number
  readonly bytesMax: number
}

const usualReserve: Reserve = { part: 0.05, bytesMax: 1024 ** 3 }

export class AccountSpace {
  readonly #directory: string
  readonly #bytesMax: number
  readonly #reserve: Reserve
  #measuredBytes = 0
  #measuredAtMs = Number.NEGATIVE_INFINITY
  #measuring: Promise<void> | undefined
  /** Bytes of requests since the directory was measured, including those that were in flight then. */
  #sinceBytes = 0
  #inFlightBytes = 0

  constructor(directory: string, bytesMax: number, reserve = usualReserve) {
    this.#directory = directory
    this.#bytesMax = bytesMax
    this.#reserve = reserve
  }

  /** Writes if there is space for so many bytes, else throws a `FileFault`. The directory must exist. */
  async within<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    await this.leaveReserve(bytes)
    if (this.#isMeasureDue(bytes)) await this.measure()
    if (this.#exceeds(bytes)) {
      const allowed = `The files of the account take the ${sizeText(this.#bytesMax)} that the operator allows`
      throw new FileFault('FileSpaceUsed', `${allowed}: events wait until some are deleted.`)
    }
    this.#sinceBytes += bytes
    this.#inFlightBytes += bytes
    try {
      return await write()
    } finally {
      this.#inFlightBytes -= bytes
    }
  }

  /** Throws a `FileFault` if so many bytes more would use up what is left to other programs. */
  async leaveReserve(bytes: number): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(this.#directory)
    const { part, bytesMax } = this.#reserve
    // Some file systems do not say how large they are.
    if (blocks === 0 || bavail * bsize - bytes >= Math.min(blocks * bsize * part, bytesMax)) return
    throw new FileFault('DiskAlmostFull', 'The disk is almost full: events wait until it has more space.')
  }

  #exceeds(bytes: number): boolean {
    return this.#measuredBytes + this.#sinceBytes + bytes > this.#bytesMax
  }

  #isMeasureDue(bytes: number): boolean {
    if (this.#exceeds(bytes)) return monotonicMs() - this.#measuredAtMs >= measuredAgainMs
    const isFirst = this.#measuredAtMs === Number.NEGATIVE_INFINITY
    return isFirst || this.#sinceBytes + bytes > this.#bytesMax * unmeasuredPart
  }

  measure(): Promise<void> {
    this.#measuring ??= this.#look().finally(() => {
      this.#measuring = undefined
    })
    return this.#measuring
  }

  async #look(): Promise<void> {
    const settledBytes = this.#sinceBytes - this.#inFlightBytes
    let bytes = 0
    for (const file of await readdir(this.#directory)) bytes += await sizeOf(join(this.#directory, file))
    this.#measuredBytes = bytes
    this.#sinceBytes -= settledBytes
    this.#measuredAtMs = monotonicMs()
  }
}

const sizeOf = async (path: string): Promise<number> => {
  try {
    return (await lstat(path)).size
  } catch (error) {
    // It was rotated or deleted meanwhile.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

interface Users {
  readonly space: AccountSpace
  count: number
}

/** By the directory, which is one for all of the process. */
const opened = new Map<string, Users>()

export interface SharedSpace {
  readonly space: AccountSpace
  close(): void
}

/** The space of an account's directory, the same for all that have it open. */
export function openSpace(directory: string, bytesMax: number): SharedSpace {
  const users = opened.get(directory) ?? { space: new AccountSpace(directory, bytesMax), count: 0 }
  opened.set(directory, users)
  users.count += 1
  return {
    space: users.space,
    close: () => {
      users.count -= 1
      if (users.count === 0) opened.delete(directory)
    },
  }
}
