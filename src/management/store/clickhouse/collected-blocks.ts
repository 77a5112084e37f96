/**
 * Blocks of rows (`wire/blocks/block-writer.ts`) that are collected for one insert.
 *
 * The statements of the embedded engine are text, so it reads the blocks from a file. They are written there as they arrive:
 * megabytes of buffers that wait for an insert make V8 collect its whole heap again and again.
 */
import { type FileHandle, open, rm } from 'node:fs/promises'
import type { ReleasedBuffers } from '../../../ground/core/released-buffers.js'

export interface CollectedBlocks {
  /** The file that holds them; undefined if they are in memory. */
  readonly file: string | undefined
  /** Waits until the block is not needed any more; call it again only after that. */
  add(block: Uint8Array): Promise<void>
  /** In the order in which they were added. */
  all(): Promise<Uint8Array[]>
  /** Forgets them. A statement that reads them may still run. */
  drop(): Promise<void>
}

export class BlocksInMemory implements CollectedBlocks {
  readonly file = undefined
  #blocks: Uint8Array[] = []

  async add(block: Uint8Array): Promise<void> {
    this.#blocks.push(block)
  }

  async all(): Promise<Uint8Array[]> {
    return this.#blocks
  }

  async drop(): Promise<void> {
    this.#blocks = []
  }
}

export class BlocksInFile implements CollectedBlocks {
  readonly file: string
  readonly #released: ReleasedBuffers
  #handle: FileHandle | undefined
  /** The end of each block. */
  readonly #ends: number[] = []

  /** `file` must not exist yet. */
  constructor(file: string, released: ReleasedBuffers) {
    this.file = file
    this.#released = released
  }

  /**
   * The next block overwrites the remains of one that failed. If there is none, ClickHouse refuses the file, and its blocks
   * are collected again.
   */
  async add(block: Uint8Array): Promise<void> {
    this.#handle ??= await open(this.file, 'wx+', 0o600)
    const begin = this.#ends.at(-1) ?? 0
    for (let at = 0; at < block.length; ) {
      const { bytesWritten } = await this.#handle.write(block, at, block.length - at, begin + at)
      at += bytesWritten
    }
    this.#ends.push(begin + block.length)
    this.#released.add(block.length)
  }

  async all(): Promise<Uint8Array[]> {
    const bytes = Buffer.alloc(this.#ends.at(-1) ?? 0)
    for (let at = 0; at < bytes.length; ) {
      const { bytesRead } = (await this.#handle?.read(bytes, at, bytes.length - at, at)) ?? { bytesRead: 0 }
      if (bytesRead === 0) throw new Error(`${this.file} was cut off.`)
      at += bytesRead
    }
    return this.#ends.map((end, index) => bytes.subarray(this.#ends[index - 1] ?? 0, end))
  }

  async drop(): Promise<void> {
    await this.#handle?.close()
    this.#handle = undefined
    await rm(this.file, { force: true })
  }
}
