/** The disk of the local nats-server: whether files can be written there, found out by trying, and whether it is mounted. */
import { statSync } from 'node:fs'
import { open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../ground/core/errors.js'

/** With less, the next message or block may not fit. */
export const roomBytesMin = 4 * 1024 * 1024

export interface Lack {
  /** A sentence. */
  readonly text: string
  /** Nothing can be written, for another reason than too little room. */
  readonly isUnwritable: boolean
}

/** Why the directory can't hold so many bytes more. One that is missing, as while its disk is not mounted, holds none. */
export async function lackOf(dir: string, bytes: number): Promise<Lack | undefined> {
  try {
    const { bavail, bsize } = await statfs(dir)
    if (bavail * bsize < roomBytesMin) return { text: `The disk of ${dir} is full.`, isUnwritable: false }
    await write(join(dir, '.room'), bytes)
    return undefined
  } catch (error) {
    return { text: lackOfWriting(dir, error), isUnwritable: true }
  }
}

const lackOfWriting = (dir: string, error: unknown): string =>
  `Nothing can be written in ${dir} (${messageOf(error)}).`

/** Not synchronous: a disk may hang. */
async function write(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.write(Buffer.alloc(bytes))
    // One byte is written at each look, which must not wait for a slow disk.
    if (bytes > 1) await file.sync()
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

/** Where a server stores. */
export class StorePlace {
  readonly #dir: string
  readonly #store: string
  #device: number | undefined

  /** `dir` is there before the server has made its store in it. */
  constructor(dir: string, store: string) {
    this.#dir = dir
    this.#store = store
  }

  /** It is right as it is now. */
  note(): void {
    this.#device = this.#deviceNow()
  }

  /**
   * Why no server may be started now, as a sentence. A directory that lies where a disk was mounted is empty: a server that
   * stored in it would keep its messages where the next one does not look for them. `configure` writes a file next to the
   * store.
   */
  async obstacle(configure: () => void): Promise<string | undefined> {
    const device = this.#deviceNow()
    const isElsewhere = this.#device !== undefined && device !== this.#device
    if (isElsewhere && deviceOf(join(this.#store, 'jetstream')) === undefined)
      return `The disk of ${this.#store} is not mounted.`
    // The server makes a store that is missing.
    const dir = deviceOf(this.#store) === undefined ? this.#dir : this.#store
    try {
      await write(join(dir, '.room'), 1)
      configure()
      return undefined
    } catch (error) {
      return lackOfWriting(dir, error)
    }
  }

  #deviceNow(): number | undefined {
    return deviceOf(this.#store) ?? deviceOf(this.#dir)
  }
}

const deviceOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.dev
