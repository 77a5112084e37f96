/** Files that were rotated: their names, their last line, compression, and how many are kept. */
import { constants, createReadStream } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { now, sleep, uuid } from '../../../ground/core/clock.js'

export interface Rotation {
  /** Bytes. A larger request has a file of its own. */
  readonly sizeMax: number
  readonly ageMaxMs: number
  /** How many rotated files are kept; older ones are deleted. */
  readonly keep: number
  readonly gzip: boolean
}

/** `events.ndjson` → `events-20261126T013541378Z-1a2b3c4d.ndjson`; in the order of their names, they are in that of time. */
export function rotatedName(name: string): string {
  const end = extname(name)
  return `${name.slice(0, name.length - end.length)}-${timeText(now())}-${uuid().slice(0, 8)}${end}`
}

const timeText = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:.]/g, '')

const rotatedEnd = /-(\d{8}T\d{9}Z)-[0-9a-f]{8}(\.[^.]*)?$/

/** Could it be a rotated file of another name? Then the destination of that name would delete it. */
export const isRotatedName = (name: string): boolean => rotatedEnd.test(name)

/** When it was rotated, as in its name. */
const timeIn = (rotated: string): string => rotatedEnd.exec(rotated)![1]!

const rotatedForm = (name: string): RegExp => {
  const [begin, end] = [name.slice(0, name.length - extname(name).length), extname(name)].map((part) =>
    part.replaceAll('.', '\\.'),
  )
  return new RegExp(`^(${begin}-\\d{8}T\\d{9}Z-[0-9a-f]{8}${end})(\\.gz(\\.[0-9a-f]{8}\\.partial)?)?$`)
}

/** Left by a process that ended while it compressed. */
const partialMaxMs = 60 * 60 * 1000

/** A process that had a file open when it was rotated may still write to it within this time. */
const lateWritesMs = 60 * 1000
/** After files were tidied. */
const tidyPauseMs = 200

/** The rotated files of a file. Several processes may have the same. */
export class RotatedFiles {
  readonly #directory: string
  readonly #rotation: Rotation
  readonly #form: RegExp
  /** Files that need no look, by their stems; `false`: one more after late writes. */
  readonly #finished = new Map<string, boolean>()
  #isTidying = false
  #isTidyDue = false

  constructor(directory: string, name: string, rotation: Rotation) {
    this.#directory = directory
    this.#rotation = rotation
    this.#form = rotatedForm(name)
  }

  /** Nothing waits for it: if it fails, the next rotation does it. Calls during a run make one more run. */
  tidySoon(): void {
    this.#isTidyDue = true
    if (this.#isTidying) return
    this.#isTidying = true
    void this.#tidyWhileDue().finally(() => {
      this.#isTidying = false
    })
  }

  async #tidyWhileDue(): Promise<void> {
    while (this.#isTidyDue) {
      this.#isTidyDue = false
      await this.#tidy().catch(() => {})
      await sleep(tidyPauseMs)
    }
  }

  /** Deletes the files that are too many, cuts off torn lines, and compresses. */
  async #tidy(): Promise<void> {
    const { found, kept } = await this.deleteOld()
    for (const stem of this.#finished.keys()) if (!kept.has(stem)) this.#finished.delete(stem)
    for (const [, stem = '', isZipped] of found)
      if (kept.has(stem) && isZipped === undefined) await this.#finishOnce(stem)
  }

  /** Deletes the files that are too many. */
  async deleteOld(): Promise<{ found: readonly RegExpExecArray[]; kept: ReadonlySet<string> }> {
    const files = await readdir(this.#directory)
    const found = files.map((file) => this.#form.exec(file)).filter((match) => match !== null)
    const stems = [...new Set(found.map(([, stem]) => stem!))].sort()
    const kept = new Set(stems.slice(-this.#rotation.keep))
    for (const [file, stem = '', , isPartial] of found) {
      const path = join(this.#directory, file)
      if (!kept.has(stem) || (isPartial !== undefined && (await isLeft(path))))
        await rm(path, { force: true })
    }
    return { found, kept }
  }

  async #finishOnce(stem: string): Promise<void> {
    const isLast = timeIn(stem) < timeText(now() - lateWritesMs)
    const wasLast = this.#finished.get(stem)
    if (wasLast === true || wasLast === isLast) return
    await finish(join(this.#directory, stem), this.#rotation.gzip)
    this.#finished.set(stem, isLast)
  }
}

const isLeft = async (path: string): Promise<boolean> => now() - (await stat(path)).mtimeMs > partialMaxMs

async function finish(path: string, gzip: boolean): Promise<void> {
  await cutTornLine(path)
  if (!gzip) return
  const partial = `${path}.gz.${uuid().slice(0, 8)}.partial`
  try {
    await using zipped = await open(partial, 'wx', 0o640)
    await pipeline(createReadStream(path), createGzip(), zipped.createWriteStream({ flush: true }))
    await rename(partial, `${path}.gz`)
    await rm(path, { force: true })
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

const chunkBytes = 64 * 1024

async function cutTornLine(path: string): Promise<void> {
  await using file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW)
  const { size } = await file.stat()
  const chunk = Buffer.alloc(chunkBytes)
  for (let end = size; end > 0; ) {
    const begin = Math.max(0, end - chunkBytes)
    const { bytesRead } = await file.read(chunk, 0, end - begin, begin)
    const last = chunk.subarray(0, bytesRead).lastIndexOf('\n')
    if (last === size - begin - 1) return
    end = last === -1 ? begin : 0
    if (last !== -1 || begin === 0) await file.truncate(begin + last + 1)
  }
}
