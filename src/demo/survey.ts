/** Reads a file of records once, before anything is created for it. */
import { shown } from '../core/errors.js'
import { type RecordType, recordTypeOf } from '../record/traffic-record.js'
import type { Line } from './records-file.js'
import { RecordsFileError } from './records-file.js'

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
