/** The status of a destination whose events are delivered while it is read, and of one whose events no pack holds. */
import t from 'tap'
import { Books } from '../../../src/delivery/books/books.js'
import { type LedgerEntry, noRecords, type PackContents } from '../../../src/delivery/books/ledger.js'
import { noOutcomes } from '../../../src/delivery/wire/delivery-attempts.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { DeliveryStates } from '../../../src/management/operate/delivery-states.js'
import { statusesOf, statusOf } from '../../../src/management/operate/destination-status.js'
import { UnfoundBacklogs } from '../../../src/management/operate/unfound-backlogs.js'

const id = 'ed_a'
const row = { id, account_id: 'ac_1', target: { kinesis: { stream_arn: 'x' } } } as never
const lane = { state: 'healthy', cause: null, since: null, last_success_at: null, last_error: null }

const pack = (sequence: number): PackContents => ({
  pack: `${id}.${sequence}`,
  destination: id,
  stream: 'records',
  since: 'run 1',
  segments: `${sequence}:7`,
})
const produced = (sequence: number): LedgerEntry[] => [
  { type: 'pack', ...pack(sequence), sequence },
  {
    type: 'input',
    stream: 'records',
    since: 'run 1',
    ranges: [[sequence, sequence]],
    counts: { ...noRecords, sources: [['es_1', 'log.v0', id, 7, 0]] },
  },
]
const delivered = (sequence: number): LedgerEntry => ({
  type: 'delivered',
  ...pack(sequence),
  target: 'kinesis',
  dead: [],
  retried: 0,
  last: noOutcomes,
})

/** `onRead`: while the stream is read. The stream has no pack. */
function open(entries: readonly LedgerEntry[], onRead: (books: Books) => void = () => {}) {
  const clock = { nowMs: 0 }
  const books = new Books()
  for (const entry of entries) books.add(entry)
  const unfound = new UnfoundBacklogs(
    () => books,
    () => clock.nowMs,
  )
  const deps = {
    nats: {
      consumerInfo: async () => undefined,
      nextMessage: async () => {
        onRead(books)
        return undefined
      },
    },
    partitions: onePartition,
    books: { books },
    behind: { of: async () => null },
    unfound,
    states: new DeliveryStates(async (_, data) => [
      Buffer.from(JSON.stringify(data.startsWith('[') ? { [id]: lane } : lane)),
    ]),
    retentionMs: 1_000_000,
  } as never
  const lookAt = (nowMs: number): void => {
    clock.nowMs = nowMs
    unfound.look()
  }
  return { deps, lookAt, books, close: () => unfound.close() }
}

t.test('events that are delivered while the status is read are not called lost', async (t) => {
  const { deps, lookAt, close } = open(produced(1), (books) => books.add(delivered(1)))
  t.teardown(close)
  lookAt(0)
  lookAt(20_000)
  const one = await statusOf(deps, row)
  t.match(one, { advice: null, backlog: { events: 0, oldest_at: null }, counts: { delivered: 7 } })
})

t.test('nor if further ones come meanwhile', async (t) => {
  const { deps, lookAt, close } = open(produced(1), (books) => {
    books.add(delivered(1))
    for (const entry of produced(2)) books.add(entry)
  })
  t.teardown(close)
  lookAt(0)
  lookAt(20_000)
  const [many] = await statusesOf(deps, [row])
  t.match(many, { status: { advice: null, backlog: { events: 7 }, counts: { produced: 14, delivered: 7 } } })
})

t.test('a backlog that no pack holds: said once it has lasted, and only while nothing changes', async (t) => {
  const [, input] = produced(1)
  const { deps, lookAt, books, close } = open([input!])
  t.teardown(close)
  lookAt(0)
  t.equal((await statusOf(deps, row)).advice, null, 'one look proves nothing')
  lookAt(5_000)
  t.equal((await statusOf(deps, row)).advice, null)
  lookAt(10_000)
  t.match((await statusOf(deps, row)).advice, /^The backlog of 7 events is not there/)
  books.add(produced(2)[1]!)
  t.equal((await statusOf(deps, row)).advice, null, 'something happens')
  lookAt(15_000)
  lookAt(25_000)
  t.match((await statusOf(deps, row)).advice, /^The backlog of 14 events is not there/)
  books.add(produced(3)[0]!)
  lookAt(35_000)
  t.equal((await statusOf(deps, row)).advice, null, 'a pack is there')
})
