/**
 * The same bytes of work with nothing of Weir in it: this one configuration, written by hand to be as fast as Node
 * allows. It checks nothing, counts nothing, and knows no other configuration.
 */
import { hash } from 'node:crypto'
import type { GeoLookup } from '../../../src/record/geo.js'
import { addressOf } from '../floor/address.js'
import type { ConnectionRecord } from '../floor/events.js'
import { accountId, deniedCountries, logs, rules, storedAtMs, subscriptions } from './input.js'

/** All denied networks are /16: one look at the first half of an address is enough. */
const denied = new Uint8Array(0x10000)
for (const rule of rules.slice(1)) denied[addressOf(rule.slice(1, rule.indexOf('/'))) >>> 16] = 1

const timestamp = new Date(storedAtMs).toISOString()
const countries = new Set(deniedCountries)
const testNetwork = addressOf('192.0.2.0') >>> 8
const benchmarkNetwork = addressOf('198.18.0.0') >>> 17

const headOf = (type: string) =>
  `","event_type":"${type}","event_timestamp":"${timestamp}","account_id":"${accountId}","object":{`
const closedHead = headOf('tcp_connection_closed.v0')
const logHead = headOf('log.v0')
const logTails = logs.map(({ metadata }) => `${logHead}"metadata":${JSON.stringify(metadata)}}}`)

function line(id: string, rest: string): string {
  return `${id} ${storedAtMs} {"event_id":"${id}${rest}\n`
}

export function runFloor(messages: readonly Buffer[], geo: GeoLookup): Map<string, Buffer> {
  let first = ''
  let second = ''
  let third = ''
  for (const message of messages) {
    const text = message.toString('latin1')
    for (let start = 0; start < text.length; ) {
      const lineEnd = text.indexOf('\n', start)
      const end = lineEnd === -1 ? text.length : lineEnd
      const { record_id, conn } = JSON.parse(text.slice(start, end)) as ConnectionRecord
      start = end + 1
      const address = addressOf(conn.client_ip)
      const isAllowed = denied[address >>> 16] === 0
      const isPassed =
        isAllowed &&
        address >>> 8 !== testNetwork &&
        address >>> 17 !== benchmarkNetwork &&
        !countries.has(geo.lookup(conn.client_ip).country_code ?? '') &&
        conn.server_port !== 23 &&
        conn.server_port !== 2323
      const large = isPassed && conn.bytes_out > 1_990_000
      const upload = isPassed && conn.server_port === 22 && conn.bytes_in > 19_900
      const id = `ev_${hash('sha256', record_id, 'hex').slice(0, 46)}`
      const closed = `${closedHead}"conn":{"bytes_in":${conn.bytes_in},"bytes_out":${conn.bytes_out},"client_ip":"${conn.client_ip}","end_ts":"${conn.end_ts}","server_ip":"${conn.server_ip}","server_name":"${conn.server_name}","server_port":${conn.server_port},"start_ts":"${conn.start_ts}"},"ip_policy":{"decision":"${isAllowed ? 'allow' : 'block'}"}}}`
      if (conn.server_port === 22) first += line(`${id}00`, closed)
      if (address >>> 24 !== 10) second += line(`${id}10`, closed)
      if (conn.server_name.endsWith('.eu.example')) third += line(`${id}20`, closed)
      if (large) {
        first += line(`${id}01`, logTails[0]!)
        second += line(`${id}11`, logTails[0]!)
        third += line(`${id}21`, logTails[0]!)
      }
      if (upload) {
        first += line(`${id}02`, logTails[1]!)
        second += line(`${id}12`, logTails[1]!)
        third += line(`${id}22`, logTails[1]!)
      }
    }
  }
  const texts = [first, second, third]
  return new Map(
    subscriptions.map(({ destinationId }, index) => [destinationId, Buffer.from(texts[index]!, 'latin1')]),
  )
}
