/**
 * Every answer over a store that has each resource in its emptiest and its fullest form: what was stored once is no reason
 * for an internal error.
 */
import t from 'tap'
import { DeliveryReader } from '../../../src/management/store/logs/delivery-reader.js'
import { FailureReader } from '../../../src/management/store/logs/failure-reader.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { TrafficReader } from '../../../src/management/store/logs/traffic-reader.js'
import { openTestStore } from '../../harness/api.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { patientReader } from '../../harness/patient-reader.js'
import { Estate, servedResources } from './estate.js'
import { filled, operationsOf, unknownId } from './operations.js'

/** A stream of what happens from now on reads nothing that is stored. */
const endless = /\/live$/

const dayMs = 24 * 60 * 60_000

/** An operator grants the right to make them. */
const notOfAnAccount = ['abuse_report']

t.test('no request to read fails because of what is stored', async (t) => {
  const store = await openTestStore(t)
  const { clickhouse } = store.parts
  await shapeLogTables(clickhouse, { retentionMs: 30 * dayMs, bytesMax: 2 ** 30 })
  const api = await store.api({
    log: patientReader(clickhouse),
    deliveries: new DeliveryReader(clickhouse, 'all'),
    failures: new FailureReader(clickhouse, 'all'),
    traffic: new TrafficReader(clickhouse, 'all'),
  })
  const me = await api.account()
  const full = new Estate(me, 'full-forms')
  const ids = new Map<string, string[]>()
  const made: string[] = []
  for (const { kind, path } of servedResources) {
    const known = notOfAnAccount.includes(kind) ? unknownId(kind) : await full.id(kind)
    const empty = await me.raw.send('POST', path, { body: '{}' })
    if (empty.status === 201) made.push(kind)
    ids.set(kind, empty.status === 201 ? [known, empty.body.id] : [known])
  }
  t.ok(made.includes('tcp_edge'), `${made.length} kinds have a form without any member`)

  // Decisions about the fullest edge, and about nothing that is known.
  const [edgeId = ''] = ids.get('tcp_edge')!
  const rows = [{ edgeId }, { edgeId: '', serverName: '', serverPort: 0, country: '', asn: 0 }]
  await clickhouse.insertBlocks('decisions', [
    rowBytes(rows.map((row, n) => decisionRow({ accountId: me.accountId, ...row, recordId: `r${n}` }))),
  ])

  const visited: string[] = []
  for (const { method, path } of operationsOf(api)) {
    if (method !== 'get' || endless.test(path)) continue
    const forms = new Set<string>()
    for (const which of [0, 1])
      forms.add(await filled(path, (kind) => ids.get(kind)?.[which] ?? ids.get(kind)?.[0] ?? unknownId(kind)))
    for (const form of forms) {
      const { status, body } = await me.raw.send('GET', form)
      t.ok(status < 500, `${form}: ${status} ${status < 500 ? '' : JSON.stringify(body)}`)
    }
    visited.push(path)
  }
  const { body } = await me.raw.send('GET', '/openapi.json')
  const all = Object.entries(body.paths as Record<string, object>).filter(([, methods]) => 'get' in methods)
  t.strictSame(
    all.map(([path]) => path).filter((path) => !visited.includes(path) && !endless.test(path)),
    [],
    'every GET of the document is asked',
  )
  t.ok(visited.length > 60, `${visited.length} GETs`)
})
