/**
 * Messages of records may be compressed. A record of some hundred bytes then takes a tenth of the storage and of the copies
 * between servers, so that retention and outages may last as much longer; inflating costs less than a server saves.
 */

import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { createGunzip, gunzipSync, gzipSync } from 'node:zlib'
import { bufferOf } from '../../ground/core/bytes.js'
import { onceReady, type Soon } from '../../ground/core/concurrency.js'
import { ok, problem, type Result, shown } from '../../ground/core/errors.js'
import { inflatedBytesMax, recordLinesMax } from '../../ground/core/limits.js'
import { encodingHeader, type History, historyHeader } from '../wire/names.js'

/** Most messages inflate to less than this, or to so many times their bytes, and then at once. */
const atOnceBytesMax = 256 * 1024
const atOnceTimes = 24

interface Encoding {
  /** Throws if more comes of it. */
  readonly atOnce: (data: Uint8Array, options: { readonly maxOutputLength: number }) => Uint8Array
  /** Inflates as far as it is read. */
  readonly inStream: (options: { readonly chunkSize: number }) => Transform
}

/** Node has it from 22.15 on. */
const { zstdDecompressSync, createZstdDecompress } = zlib as {
  readonly zstdDecompressSync?: Encoding['atOnce']
  readonly createZstdDecompress?: Encoding['inStream']
}

const encodings: Readonly<Record<string, Encoding | undefined>> = {
  gzip: { atOnce: gunzipSync, inStream: createGunzip },
  zstd:
    zstdDecompressSync && createZstdDecompress
      ? { atOnce: zstdDecompressSync, inStream: createZstdDecompress }
      : undefined,
}

interface EncodedMessage {
  readonly data: Uint8Array
  readonly headers: { get(name: string): string } | undefined
}

const brace = '{'.charCodeAt(0)

/** The encoding of a message as it was sent; '' if it has none. */
export const encodingOf = ({ headers }: Pick<EncodedMessage, 'headers'>): string =>
  headers?.get(encodingHeader) ?? ''

/** The bytes of a message's records. The problem is one sentence: the message is bad as a whole. */
export function recordBytes(message: EncodedMessage): Soon<Result<Uint8Array>> {
  const { data } = message
  // Nearly all messages begin like this. The header is decoded when it is asked for, which takes as long as parsing a
  // record.
  const encoding = data[0] === brace ? '' : encodingOf(message)
  if (encoding === '') return withinLines(data)
  return onceReady(inflated(data, encoding), (bytes) => (bytes.ok ? withinLines(bytes.value) : bytes))
}

const tooManyLines = problem(`The message has more than ${recordLinesMax} lines.`)

const withinLines = (bytes: Uint8Array): Result<Uint8Array> =>
  bytes.length > recordLinesMax && linesIn(bytes) > recordLinesMax ? tooManyLines : ok(bytes)

const lineFeed = 0x0a

/** A last line need not end. Counts no further than beyond the bound. */
function linesIn(bytes: Uint8Array): number {
  const ended = lineFeedsIn(bytes)
  return bytes[bytes.length - 1] === lineFeed ? ended : ended + 1
}

function lineFeedsIn(bytes: Uint8Array): number {
  const buffer = bufferOf(bytes)
  let count = 0
  for (let end = buffer.indexOf(lineFeed); end !== -1 && count <= recordLinesMax; count += 1)
    end = buffer.indexOf(lineFeed, end + 1)
  return count
}

function inflated(data: Uint8Array, name: string): Soon<Result<Uint8Array>> {
  if (!Object.hasOwn(encodings, name))
    return problem(
      `"${encodingHeader}" is ${shown(name)}; it must be ${Object.keys(encodings).join(' or ')}.`,
    )
  const encoding = encodings[name]
  if (encoding === undefined)
    return problem(`"${encodingHeader}" is ${shown(name)}, which needs Node 22.15 or later.`)
  const maxOutputLength = Math.min(inflatedBytesMax, Math.max(atOnceBytesMax, data.length * atOnceTimes))
  try {
    return ok(encoding.atOnce(data, { maxOutputLength }))
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    return isTooLarge ? inflatedInStream(data, name, encoding) : undecodable(name, 'it is damaged')
  }
}

const undecodable = (name: string, why: string) => problem(`The message can't be decoded as ${name}: ${why}.`)

const chunkSize = 64 * 1024

/**
 * A few bytes may inflate to a thousand times as many. This stops at the bound of bytes or lines, and leaves the event
 * loop to others.
 */
async function inflatedInStream(
  data: Uint8Array,
  name: string,
  { inStream }: Encoding,
): Promise<Result<Uint8Array>> {
  const chunks: Uint8Array[] = []
  let [bytes, lineFeeds] = [0, 0]
  try {
    for await (const chunk of inStream({ chunkSize }).end(data) as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      bytes += chunk.length
      lineFeeds += lineFeedsIn(chunk)
      if (lineFeeds > recordLinesMax) return tooManyLines
      if (bytes > inflatedBytesMax) return undecodable(name, `more than ${inflatedBytesMax} bytes come of it`)
    }
  } catch {
    return undecodable(name, 'it is damaged')
  }
  return ok(Buffer.concat(chunks))
}

/** A smaller message gains nothing. */
const encodedBytesMin = 512
/** Three times as fast as the default, for a tenth more bytes. */
const level = 1

/** A message of records as it is published, compressed where that is worth it. `history`: the records are of the past. */
export function encodedRecords(
  records: Uint8Array | string,
  history?: History,
): {
  readonly data: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
} {
  const past = history && { [historyHeader]: history }
  if (records.length < encodedBytesMin) return { data: records, ...(past && { headers: past }) }
  return { data: gzipSync(records, { level }), headers: { ...past, [encodingHeader]: 'gzip' } }
}
