/**
 * The same bytes of work with nothing of Weir in it: this one configuration, written by hand to be as fast as Node
 * allows. It checks nothing, counts nothing, and knows no other configuration.
 */
import { hash } from 'node:crypto'
import type { GeoLookup } from '../../../src/delivery/record/geo.js'
import { addressOf } from '../floor/address.js'
import type { ConnectionRecord } from '../floor/events.js'
import { accountId, deniedCountries, logs, rules, storedAtMs, subscriptions } from './input.js'

/** All denied networks are /16: one look at the first half of an address is enough. */
const denied = new Uint8Array(0x10000)
for (const rule of rules.slice(1)) denied[addressOf(rule.slice(1, rule.indexOf('/'))) >>> 16] = 1

const countries = new Set(deniedCountries)
const testNetwork = addressOf('192.0.2.0') >>> 8
const benchmarkNetwork = addressOf('198.18.0.0') >>> 17

const headOf = (type: string) =>
  `","event_type":"${type}","event_timestamp":"\t","account_id":"${accountId}","object":{`
const closedPieces = [
  '"conn":{"bytes_in":',
  ',"bytes_out":',
  ',"client_ip":"',
  '","end_ts":"',
  '","server_ip":"',
  '","server_name":"',
  '","server_port":',
  ',"start_ts":"',
  '"},"ip_policy":{"decision":"',
  '"}}}',
]
const logTails = logs.map(({ metadata }) => `\t${JSON.stringify(metadata)}\n`)

/** The beginning of a destination's pack: its time, and the templates of its three kinds of events. */
function packHead(place: number): string {
  const closed = `${headOf('tcp_connection_closed.v0')}${closedPieces.join('\t')}`
  const logged = `${headOf('log.v0')}"metadata":\t}}`
  const templates = [closed, logged, logged].map(
    (rest, kind) => `={"event_id":"ev_\t${place}${kind}${rest}\n`,
  )
  return `@${storedAtMs}\n${templates.join('')}`
}

export function runFloor(messages: readonly Buffer[], geo: GeoLookup): Map<string, Buffer> {
  let first = packHead(0)
  let second = packHead(1)
  let third = packHead(2)
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
      const part = hash('sha256', record_id, 'hex').slice(0, 46)
      const closed = `#0\t${part}\t${conn.bytes_in}\t${conn.bytes_out}\t${conn.client_ip}\t${conn.end_ts}\t${conn.server_ip}\t${conn.server_name}\t${conn.server_port}\t${conn.start_ts}\t${isAllowed ? 'allow' : 'block'}\n`
      if (conn.server_port === 22) first += closed
      if (address >>> 24 !== 10) second += closed
      if (conn.server_name.endsWith('.eu.example')) third += closed
      if (large) {
        const logged = `#1\t${part}${logTails[0]!}`
        first += logged
        second += logged
        third += logged
      }
      if (upload) {
        const logged = `#2\t${part}${logTails[1]!}`
        first += logged
        second += logged
        third += logged
      }
    }
  }
  const texts = [first, second, third]
  return new Map(
    subscriptions.map(({ destinationId }, index) => [destinationId, Buffer.from(texts[index]!, 'latin1')]),
  )
}
