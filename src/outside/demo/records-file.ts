/** Reads a file of records: one JSON object per line, with or without gzip. */
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { followFile } from '../../delivery/ingest/followed-file.js'
import { lineBytesMax } from '../../delivery/ingest/lines/line-splitter.js'
import { type RecordType, recordTypeOf } from '../../delivery/record/traffic-record.js'
import { StartFault, shown } from '../../ground/core/errors.js'
import { isObject } from '../../ground/core/json-object.js'
import { getOrMake } from '../../ground/core/maps.js'

/** The lines that are not blank. Throws a `StartFault` if the file is missing, empty or corrupt. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  const name = basename(path)
  if (!existsSync(path)) throw new StartFault(`There is no file ${name}.`)
  const note = (text: string): never => {
    throw new StartFault(text)
  }
  let number = 0
  let found = false
  const { signal } = new AbortController()
  const whole = { from: undefined, fromEnd: false, untilEnd: true, begins: () => {}, signal, note }
  for await (const lines of followFile(path, whole)) {
    for (const { text, isTooLong } of lines) {
      number += 1
      if (isTooLong) throw new StartFault(`Line ${number} of ${name} has more than ${lineBytesMax} bytes.`)
      if (text.trim() === '') continue
      found = true
      yield text.trim()
    }
  }
  if (!found) throw new StartFault(`${name} is empty: it holds no record.`)
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
  /** The port that most of its records have; undefined if none has one. */
  readonly port: number | undefined
}

/** The fields of a record that the demo reads; any may be missing. */
export interface RecordView {
  readonly record_id?: unknown
  readonly type?: unknown
  readonly edge_id?: unknown
  readonly conn?: {
    readonly client_ip?: unknown
    readonly server_name?: unknown
    readonly server_port?: unknown
    readonly start_ts?: unknown
    readonly end_ts?: unknown
  }
}

/** Undefined for a line without a JSON object. It is published all the same, and Weir refuses it. */
export function parseRecordLine(text: string): RecordView | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const serverKey = (type: unknown, name: unknown): string => `${String(type)} ${String(name)}`

const portMax = 65_535

const isPort = (port: unknown): port is number =>
  typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= portMax

/** How often there is which. */
type Counts<Key> = Map<Key, number>

const add = <Key>(counts: Counts<Key>, key: Key): void => void counts.set(key, (counts.get(key) ?? 0) + 1)

const total = (counts: Counts<unknown>): number => [...counts.values()].reduce((sum, count) => sum + count, 0)

const mostFrequent = <Key>(counts: Counts<Key>): Key[] =>
  [...counts].toSorted(([, a], [, b]) => b - a).map(([key]) => key)

/** Reads all lines. Throws a `StartFault` if none is a record. */
export async function surveyRecords(
  lines: AsyncIterable<string>,
  progress: (lines: number) => void,
): Promise<Survey> {
  const servers = new Map<string, Omit<Server, 'port'> & { readonly ports: Counts<unknown> }>()
  const networks: Counts<string> = new Map()
  const ids = new Set<unknown>()
  let count = 0
  let objects = 0
  for await (const text of lines) {
    count += 1
    progress(count)
    const record = parseRecordLine(text)
    if (record === undefined) continue
    objects += 1
    ids.add(record.record_id)
    const { server_name: name, server_port, client_ip } = record.conn ?? {}
    const type = recordTypeOf(record.type)
    if (type !== undefined && typeof name === 'string') {
      const fresh = () => ({ name, type, ports: new Map() })
      add(getOrMake(servers, serverKey(type, name), fresh).ports, server_port)
    }
    const [, network] = /^(\d+\.\d+)\.\d+\.\d+$/.exec(String(client_ip)) ?? []
    if (network !== undefined) add(networks, network)
  }
  if (objects === 0) throw new StartFault(`Not one of its ${shown(count)} lines is a JSON object.`)
  return {
    lines: count,
    servers: [...servers.values()]
      .toSorted((a, b) => total(b.ports) - total(a.ports))
      .map(({ name, type, ports }) => ({ name, type, port: mostFrequent(ports).find(isPort) })),
    networks: mostFrequent(networks).map((network) => `${network}.0.0/16`),
    idsRepeat: ids.size < objects,
  }
}
