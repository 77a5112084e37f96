/**
 * Messages of records may be compressed. A record of some hundred bytes then takes a tenth of the storage and of the copies
 * between servers, so that retention and outages may last as much longer; inflating costs less than a server saves.
 */

import * as zlib from 'node:zlib'
import { gunzipSync, gzipSync } from 'node:zlib'
import { ok, problem, type Result, shown } from '../core/errors.js'

/** Names the encoding of a message's bytes; missing: they are the records. */
const encodingHeader = 'Weir-Encoding'

/** A message has at most so many bytes of records. */
export const inflatedBytesMax = 16 * 1024 * 1024

type Inflate = (data: Uint8Array, options: { readonly maxOutputLength: number }) => Uint8Array

/** Node has it from 22.15 on. */
const { zstdDecompressSync } = zlib as { readonly zstdDecompressSync?: Inflate }

const inflates: Readonly<Record<string, Inflate | undefined>> = {
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
}

interface EncodedMessage {
  readonly data: Uint8Array
  readonly headers: { get(name: string): string } | undefined
}

const brace = '{'.charCodeAt(0)

/** The bytes of a message's records. The problem is one sentence: the message is bad as a whole. */
export function recordBytes({ data, headers }: EncodedMessage): Result<Uint8Array> {
  // Nearly all messages begin like this. The header is decoded when it is asked for, which takes as long as parsing a record.
  if (data[0] === brace) return ok(data)
  const encoding = headers?.get(encodingHeader) ?? ''
  return encoding === '' ? ok(data) : inflated(data, encoding)
}

function inflated(data: Uint8Array, encoding: string): Result<Uint8Array> {
  if (!Object.hasOwn(inflates, encoding))
    return problem(
      `"${encodingHeader}" is ${shown(encoding)}; it must be ${Object.keys(inflates).join(' or ')}.`,
    )
  const inflate = inflates[encoding]
  if (inflate === undefined)
    return problem(`"${encodingHeader}" is ${shown(encoding)}, which needs Node 22.15 or later.`)
  try {
    return ok(inflate(data, { maxOutputLength: inflatedBytesMax }))
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    const why = isTooLarge ? `more than ${inflatedBytesMax} bytes come of it` : 'it is damaged'
    return problem(`The message can't be decoded as ${encoding}: ${why}.`)
  }
}

/** A smaller message gains nothing. */
const encodedBytesMin = 512
/** Three times as fast as the default, for a tenth more bytes. */
const level = 1

/** A message of records as it is published, compressed where that is worth it. */
export function encodedRecords(records: Uint8Array | string): {
  readonly data: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
} {
  if (records.length < encodedBytesMin) return { data: records }
  return { data: gzipSync(records, { level }), headers: { [encodingHeader]: 'gzip' } }
}
