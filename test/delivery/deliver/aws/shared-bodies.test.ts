/** Bodies that several destinations send: what they share, and that each is the same as if it were written alone. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { recordsOf } from '../../../../src/delivery/deliver/aws/packing.js'
import {
  SharedBodies,
  type SharedRecords,
  sharedBodiesBytesMax,
} from '../../../../src/delivery/deliver/aws/shared-bodies.js'
import { openSender } from '../../../../src/delivery/deliver/kinds.js'
import type { PackedEvent } from '../../../../src/delivery/wire/packed-event.js'
import { openAwsWorld } from '../aws-world.js'
import { someEvents } from '../events.js'

const target = { recordBytes: 1_000, groupOf: () => '' }

const single = (events: readonly PackedEvent[], hasKeys = true): SharedRecords => ({
  events,
  records: recordsOf(events, 'none', target),
  hasKeys,
  layout: `single ${hasKeys}`,
})
const packed = (events: readonly PackedEvent[]): SharedRecords => ({
  events,
  records: recordsOf(events, 'ndjson', target),
  hasKeys: true,
  layout: 'packed',
})

t.test('a shared body is byte for byte the one that is written alone, and so is its hash', (t) => {
  const shared = new SharedBodies({ areShared: true })
  const alone = new SharedBodies()
  const events = someEvents(200)
  const requests: readonly SharedRecords[] = [
    single(events),
    packed(events),
    single(events, false),
    single(events.slice(1)),
    single(someEvents(200)),
    single([...events.slice(0, -1), ...someEvents(1, 'other')]),
  ]
  for (let n = 0; n < 3; n += 1) {
    const [own, other] = [shared.own(), alone.own()]
    for (const request of requests) {
      const name = `"StreamARN":"arn:${'x'.repeat(n * 100)}"`
      const { body, sha256 } = own.write(request, name)
      t.ok(body.equals(other.write(request, name).body))
      t.equal(sha256, createHash('sha256').update(body).digest('hex'))
      own.giveBack({ body, sha256 })
    }
  }
  t.end()
})

t.test('a body stays as it is when others are written, and when its beginning is forgotten', (t) => {
  const shared = new SharedBodies({ areShared: true })
  const [first, second] = [shared.own(), shared.own()]
  const records = single(someEvents(500, 'ev_', { padding: 'x'.repeat(2_000) }))
  const { body } = first.write(records, '"StreamARN":"first"')
  const before = Buffer.from(body)
  const other = second.write(records, '"StreamARN":"second"')
  t.not(other.body.buffer, body.buffer, 'each destination has a buffer of its own')
  for (let bytes = 0; bytes < 2 * sharedBodiesBytesMax; bytes += body.length) {
    const more = single(someEvents(500, 'more_', { padding: 'y'.repeat(2_000) }))
    second.giveBack(second.write(more, '"StreamARN":"second"'))
  }
  t.ok(body.equals(before))
  t.end()
})

for (const kind of ['kinesis', 'firehose'])
  t.test(
    `${kind}: the service accepts the signatures of shared bodies, also of requests sent again`,
    async (t) => {
      const world = await openAwsWorld(t)
      world.emulator.world.addResource({ ...world.resource(kind, 'other'), recordsPerSecond: null })
      const bodies = new SharedBodies({ areShared: true })
      const events = someEvents(300)
      for (const name of ['weir', 'other', 'weir']) {
        const sender = openSender(world.config(kind, undefined, name), world.deps, bodies)
        t.teardown(() => sender.close())
        const answer = await sender.send(events, new AbortController().signal)
        t.equal(answer.outcome, 'accepted')
      }
      for (const name of ['weir', 'other']) t.equal(world.ledger(kind, name).counts().unique, events.length)
    },
  )
