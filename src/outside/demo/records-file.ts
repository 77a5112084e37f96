/** Reads a file of records: one JSON object per line, with or without gzip. */
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { createGunzip } from 'node:zlib'
import { type RecordType, recordTypeOf } from '../../delivery/record/traffic-record.js'
import { messageOf, shown } from '../../ground/core/errors.js'

export interface Line {
  /** From 1. */
  readonly number: number
  readonly text: string
}

/** A file that can't be used; the message says why. */
class RecordsFileError extends Error {}

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

/** The facts of a file that the demo must know before it creates anything for it. */
export interface Survey {
  readonly lines: number
  /** Per server name and type, the most frequent first. */
  readonly servers: readonly Server[]
  /** /16 networks of IPv4 clients, the busiest first. */
  readonly networks: readonly string[]
  /** Do some records have the same id? They make the same events again. */
  readonly idsRepeat: boolean
}

export interface Server {
  readonly name: string
  readonly type: RecordType
  readonly records: number
  /** The port that most of its records have; undefined if none has one. */
  readonly port: number | undefined
}

/** The fields of a record that the demo reads; any may be missing. */
export interface RecordView {
  readonly record_id?: unknown
  readonly type?: unknown
  readonly conn?: {
    readonly client_ip?: unknown
    readonly server_name?: unknown
    readonly server_port?: unknown
  }
}

/** Undefined for a line without a JSON object. It is published all the same, and Weir refuses it. */
export function parseRecordLine(text: string): RecordView | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const serverKey = (type: unknown, name: unknown): string => `${String(type)} ${String(name)}`

interface SeenEndpoint {
  readonly name: string
  readonly type: RecordType
  records: number
  /** How many records have which port. */
  readonly ports: Map<number, number>
}

const portMax = 65_535

const isPort = (port: unknown): port is number =>
  typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= portMax

const mostFrequent = (counts: ReadonlyMap<number, number>): number | undefined =>
  [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0]

/** Reads all lines. Throws a `RecordsFileError` if none is a record, or one exceeds a message's limit. */
export async function surveyRecords(
  lines: AsyncIterable<Line>,
  lineBytesMax: number,
  progress: (lines: number) => void,
): Promise<Survey> {
  const servers = new Map<string, SeenEndpoint>()
  const networks = new Map<string, number>()
  const ids = new Set<unknown>()
  let count = 0
  let objects = 0
  for await (const { number, text } of lines) {
    count += 1
    progress(count)
    if (Buffer.byteLength(text) > lineBytesMax)
      throw new RecordsFileError(`Line ${number} is longer than a message may be (${lineBytesMax} bytes).`)
    const record = parseRecordLine(text)
    if (record === undefined) continue
    objects += 1
    ids.add(record.record_id)
    const { server_name, server_port, client_ip } = record.conn ?? {}
    const type = recordTypeOf(record.type)
    if (type !== undefined && typeof server_name === 'string') {
      const key = serverKey(type, server_name)
      const fresh = { name: server_name, type, records: 0, ports: new Map<number, number>() }
      const server: SeenEndpoint = servers.get(key) ?? fresh
      server.records += 1
      if (isPort(server_port)) server.ports.set(server_port, (server.ports.get(server_port) ?? 0) + 1)
      servers.set(key, server)
    }
    const [, network] = /^(\d+\.\d+)\.\d+\.\d+$/.exec(String(client_ip)) ?? []
    if (network !== undefined) networks.set(network, (networks.get(network) ?? 0) + 1)
  }
  if (objects === 0) throw new RecordsFileError(`Not one of its ${shown(count)} lines is a JSON object.`)
  return {
    lines: count,
    servers: [...servers.values()]
      .toSorted((a, b) => b.records - a.records)
      .map(({ name, type, records, ports }) => ({ name, type, records, port: mostFrequent(ports) })),
    networks: [...networks].toSorted(([, a], [, b]) => b - a).map(([network]) => `${network}.0.0/16`),
    idsRepeat: ids.size < objects,
  }
}
