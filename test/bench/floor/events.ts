/**
 * A record's event in the programs that do only the least: as long as Weir's, but nothing is checked or configured.
 */
import { hash } from 'node:crypto'
import { addressOf } from './address.js'

export interface ConnectionRecord {
  readonly record_id: string
  readonly conn: {
    readonly client_ip: string
    readonly client_port: number
    readonly server_ip: string
    readonly server_name: string
    readonly server_port: number
    readonly start_ts: string
    readonly end_ts: string
    readonly bytes_in: number
    readonly bytes_out: number
  }
}

/** 10.0.0.0/16 to 10.99.0.0/16. */
const firsts = Float64Array.from({ length: 100 }, (_, network) => addressOf(`10.${network}.0.0`))

function isAllowed(address: number): boolean {
  let [low, high] = [0, firsts.length - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    if (firsts[middle]! > address) high = middle - 1
    else if (firsts[middle]! + 65_535 < address) low = middle + 1
    else return true
  }
  return false
}

const isDenied = ({ conn }: ConnectionRecord): boolean =>
  conn.server_port === 2_222 ||
  conn.client_port < 1_024 ||
  conn.server_name === 'closed.example.com' ||
  conn.server_ip === '198.51.100.1' ||
  conn.client_ip.startsWith('127.')

const accountId = `ac_${'0'.repeat(26)}`

/** A time in UTC with milliseconds, as all times of the records are. */
const inMicroseconds = (time: string): string => `${time.slice(0, 23)}000Z`

/** The event of a record, with its line feed; `now`: its time. */
export function eventOf(line: string, now: string): string {
  const record: ConnectionRecord = JSON.parse(line)
  const { conn } = record
  const isOpen = isAllowed(addressOf(conn.client_ip)) && !isDenied(record)
  const id = `ev_${hash('sha256', record.record_id, 'hex').slice(0, 48)}`
  return `{"event_id":"${id}","event_type":"tcp_connection_closed.v0","event_timestamp":"${now}","account_id":"${accountId}","object":{"conn":{"bytes_in":${conn.bytes_in},"bytes_out":${conn.bytes_out},"client_ip":"${conn.client_ip}","end_ts":"${inMicroseconds(conn.end_ts)}","server_ip":"${conn.server_ip}","server_name":"${conn.server_name}","server_port":${conn.server_port},"start_ts":"${inMicroseconds(conn.start_ts)}"},"ip_policy":{"decision":"${isOpen ? 'allow' : 'block'}"}}}\n`
}

/** Where an event has its id, which is the partition key in Kinesis. */
export const idPlace = { start: 13, end: 64 }
