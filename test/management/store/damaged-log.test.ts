/**
 * Messages of the logs that hold no rows, of every kind: each is named and kept, and rows before and after them are stored.
 */
import t from 'tap'
import {
  decisionLogStream,
  decisionRowsSubject,
  deliveryRowsSubject,
  failureRowsSubject,
} from '../../../src/delivery/wire/names.js'
import { LogWriter } from '../../../src/management/store/logs/log-writer.js'
import { openTestStore } from '../../harness/api.js'
import {
  decisionRow,
  deliveryBytes,
  deliveryRow,
  publishRows,
  rowBytes,
} from '../../harness/decision-rows.js'
import { until } from '../../harness/weir.js'

const bounds = { retentionMs: 72 * 3_600_000, bytesMax: 2 ** 30 }
const whole = rowBytes([decisionRow({ recordId: 'whole' })])
const bodies: Readonly<Record<string, Uint8Array>> = {
  cut: whole.subarray(0, whole.length / 2),
  foreign: Buffer.from('{"hello":"world"}'),
  'one byte': Buffer.from('1'),
  'two bytes': Buffer.from('17'),
  'a word': Buffer.from('null'),
  list: Buffer.from('[null]'),
  huge: Buffer.from(`{"hello":"${'x'.repeat(500_000)}"}`),
  'compressed bytes': Buffer.from([0x1f, 0x8b, 0x08, 0, 0xff, 0, 0x7b]),
  zeros: Buffer.alloc(64),
  'no columns and no rows': Buffer.alloc(2),
  'no rows': Buffer.from([1, 0]),
  empty: Buffer.alloc(0),
  'rows of another log': deliveryBytes([deliveryRow()]),
}

t.test('messages that hold no rows', { timeout: 300_000 }, async (t) => {
  const { parts, admin } = await openTestStore(t)
  const found = new Set<number>()
  const occurrences = {
    decisionLogUnwritten: () => {},
    decisionRowsStored: () => {},
    decisionRowsMalformed: ({ sequence }: { readonly sequence?: unknown }) =>
      void found.add(Number(sequence)),
    decisionRowsDropped: () => {},
    stoppedEarly: () => {},
  }
  const writer = new LogWriter({ nats: parts.nats, clickhouse: parts.clickhouse, bounds, occurrences })
  writer.open()
  t.teardown(() => writer.close())
  const state = async () => (await admin.streamInfo(decisionLogStream))!.state
  const published = new Map<number, string>()
  const allTaken = () => until('all are taken', async () => (await state()).messages === 0)
  // ClickHouse reads on in the rows of the next message, and its error has a byte 0.
  await admin.publish(decisionRowsSubject, '17')
  published.set((await state()).last_seq, 'before rows')
  await publishRows(admin, rowBytes([decisionRow({ recordId: 'after' })]), 1)
  await allTaken()
  for (const [name, body] of Object.entries(bodies))
    for (const subject of [decisionRowsSubject, deliveryRowsSubject, failureRowsSubject]) {
      if (name === 'rows of another log' && subject === deliveryRowsSubject) continue
      await admin.publish(subject, body)
      published.set((await state()).last_seq, `${name} on ${subject}`)
    }
  await publishRows(admin, rowBytes([decisionRow({ recordId: 'at the end' })]), 1)
  await allTaken()
  for (const [sequence, name] of published) t.ok(found.has(sequence), name)
  const rows = await parts.clickhouse.rows<{ id: string }>(
    'SELECT record_id AS id FROM decisions ORDER BY id',
  )
  t.strictSame(rows, [{ id: 'after' }, { id: 'at the end' }])
})
