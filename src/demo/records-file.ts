/** Reads a file of records: one JSON object per line, with or without gzip. */
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { createGunzip } from 'node:zlib'
import { messageOf } from '../core/errors.js'

export interface Line {
  /** From 1. */
  readonly number: number
  readonly text: string
}

/** A file that can't be used; the message says why. */
export class RecordsFileError extends Error {}

/** Far above the limit of a record: a file without line breaks is not a file of records. */
const lineBytesMax = 8 * 1024 * 1024
const lineEnd = 0x0a
const gzipMagic = [0x1f, 0x8b] as const

/** The lines that are not blank. Throws a `RecordsFileError` if the file is missing, empty or corrupt. */
export async function* linesOf(path: string): AsyncGenerator<Line> {
  const name = basename(path)
  let number = 0
  let found = false
  let rest: Buffer = Buffer.alloc(0)
  const lineOf = (bytes: Buffer): Line | undefined => {
    number += 1
    const text = bytes.toString().trim()
    return text === '' ? undefined : { number, text }
  }
  for await (const chunk of plainBytes(path)) {
    let from = 0
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let end = bytes.indexOf(lineEnd); end !== -1; end = bytes.indexOf(lineEnd, from)) {
      const line = lineOf(bytes.subarray(from, end))
      from = end + 1
      if (line === undefined) continue
      found = true
      yield line
    }
    rest = bytes.subarray(from)
    if (rest.length > lineBytesMax)
      throw new RecordsFileError(`${name} has no lines: it is not a file of records.`)
  }
  const last = lineOf(rest)
  if (last !== undefined) yield last
  else if (!found) throw new RecordsFileError(`${name} is empty: it holds no record.`)
}

async function* plainBytes(path: string): AsyncGenerator<Buffer> {
  let isPacked = false
  try {
    isPacked = await beginsWithGzip(path)
    const file = createReadStream(path)
    const bytes = isPacked ? file.pipe(createGunzip()) : file
    if (bytes !== file) file.once('error', (error) => bytes.destroy(error))
    try {
      for await (const chunk of bytes) yield chunk as Buffer
    } finally {
      file.destroy()
    }
  } catch (error) {
    throw new RecordsFileError(reasonOf(error, basename(path), isPacked))
  }
}

async function beginsWithGzip(path: string): Promise<boolean> {
  for await (const chunk of createReadStream(path, { end: gzipMagic.length - 1 })) {
    const bytes = chunk as Buffer
    return gzipMagic.every((byte, index) => bytes[index] === byte)
  }
  return false
}

function reasonOf(error: unknown, name: string, isPacked: boolean): string {
  const { code } = error as { code?: string }
  if (code === 'ENOENT') return `There is no file ${name}.`
  if (code === 'EISDIR') return `${name} is a directory: name a file of records.`
  if (isPacked && code?.startsWith('Z_'))
    return `${name} is corrupt: it can't be unpacked (${messageOf(error)}).`
  return `${name} can't be read: ${messageOf(error)}.`
}
