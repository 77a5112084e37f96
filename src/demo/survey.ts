/** What is in a file of records, looked at before anything is made for it. */
import { shown } from '../core/errors.js'
import type { Line } from './records-file.js'
import { RecordsFileError } from './records-file.js'

export type RecordType = 'tcp_connection' | 'http_request'

export interface Survey {
  readonly lines: number
  /** Per server name and type, the most frequent first. */
  readonly servers: readonly { readonly name: string; readonly type: RecordType; readonly records: number }[]
  /** /16 networks of IPv4 clients, the busiest first. */
  readonly networks: readonly string[]
  /** Are there records under an id that another one has? They give the same events again. */
  readonly idsRepeat: boolean
}

/** What the demo itself needs to know of a record; anything may be missing. */
export interface RecordView {
  readonly record_id?: unknown
  readonly type?: unknown
  readonly conn?: { readonly client_ip?: unknown; readonly server_name?: unknown }
}

/** Undefined for a line that holds no JSON object: it is published all the same, and refused by Weir. */
export function parseRecordLine(text: string): RecordView | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const serverKey = (type: unknown, name: unknown): string => `${String(type)} ${String(name)}`

const isRecordType = (type: unknown): type is RecordType =>
  type === 'tcp_connection' || type === 'http_request'

/** Reads all lines. Throws a `RecordsFileError` where none of them is a record, or one is longer than a message. */
export async function surveyRecords(
  lines: AsyncIterable<Line>,
  lineBytesMax: number,
  progress: (lines: number) => void,
): Promise<Survey> {
  const servers = new Map<string, { name: string; type: RecordType; records: number }>()
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
    const { server_name, client_ip } = record.conn ?? {}
    if (isRecordType(record.type) && typeof server_name === 'string') {
      const key = serverKey(record.type, server_name)
      const server = servers.get(key) ?? { name: server_name, type: record.type, records: 0 }
      server.records += 1
      servers.set(key, server)
    }
    const [, network] = /^(\d+\.\d+)\.\d+\.\d+$/.exec(String(client_ip)) ?? []
    if (network !== undefined) networks.set(network, (networks.get(network) ?? 0) + 1)
  }
  if (objects === 0) throw new RecordsFileError(`Not one of its ${shown(count)} lines is a JSON object.`)
  return {
    lines: count,
    servers: [...servers.values()].toSorted((a, b) => b.records - a.records),
    networks: [...networks].toSorted(([, a], [, b]) => b - a).map(([network]) => `${network}.0.0/16`),
    idsRepeat: ids.size < objects,
  }
}
