/** Files that were rotated: their names, their last line, compression, and how many are kept. */
import { constants, createReadStream } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { now, uuid } from '../../core/clock.js'

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
  const time = new Date(now()).toISOString().replaceAll(/[-:.]/g, '')
  return `${name.slice(0, name.length - end.length)}-${time}-${uuid().slice(0, 8)}${end}`
}

/** Could it be a rotated file of another name? Then the destination of that name would delete it. */
export const isRotatedName = (name: string): boolean => /-\d{8}T\d{9}Z-[0-9a-f]{8}(\.[^.]*)?$/.test(name)

const rotatedForm = (name: string): RegExp => {
  const [begin, end] = [name.slice(0, name.length - extname(name).length), extname(name)].map((part) =>
    part.replaceAll('.', '\\.'),
  )
  return new RegExp(`^(${begin}-\\d{8}T\\d{9}Z-[0-9a-f]{8}${end})(\\.gz(\\.[0-9a-f]{8}\\.partial)?)?$`)
}

/** Left by a process that ended while it compressed. */
const partialMaxMs = 60 * 60 * 1000

/** Deletes the files that are too many, cuts off torn lines, and compresses. Several processes may do so at once. */
export async function tidyRotated(directory: string, name: string, { keep, gzip }: Rotation): Promise<void> {
  const form = rotatedForm(name)
  const found = (await readdir(directory)).map((file) => form.exec(file)).filter((match) => match !== null)
  const rotated = [...new Set(found.map(([, stem]) => stem!))].sort()
  const isKept = new Set(rotated.slice(-keep))
  for (const [file, stem = '', isZipped, isPartial] of found) {
    const path = join(directory, file)
    if (!isKept.has(stem) || (isPartial !== undefined && (await isLeft(path))))
      await rm(path, { force: true })
    else if (isZipped === undefined) await finish(path, gzip)
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
