/** The books against a model: despite crashes, everything counts once. */
import fc from 'fast-check'
import t from 'tap'
import { Books } from '../../../src/delivery/books/books.js'
import type { InputCounts, LedgerEntry, SourceTally } from '../../../src/delivery/books/ledger.js'
import { booksMetrics } from '../../../src/delivery/books/metrics.js'
import { type LastOutcomes, noOutcomes } from '../../../src/delivery/wire/delivery-attempts.js'
import { Segments } from '../../../src/delivery/wire/pack-message.js'

const destinations = ['ed_a', 'ed_b'] as const
type Destination = (typeof destinations)[number]

/** The number of events that one attempt at a message produces, per destination. */
type Yield = Readonly<Record<Destination, number>>

const counts = ({ ed_a, ed_b }: Yield): InputCounts => {
  const tally = (destination: string, produced: number): SourceTally => [
    `es_${destination}`,
    'log.v0',
    destination,
    produced,
    0,
  ]
  const sources = [tally('ed_a', ed_a), tally('ed_b', ed_b)].filter(([, , , produced]) => produced > 0)
  return { records: 1, bad: 0, tcp_connection: 1, http_request: 0, allow: 1, block: 0, deny: 0, sources }
}

interface Pack {
  readonly destination: Destination
  readonly id: string
  readonly since: string
  readonly segments: string
  /** Messages of which an event is dead. */
  readonly dead: readonly (readonly [number, number])[]
}

/** One attempt of a process at a run of messages. */
interface Attempt {
  readonly first: number
  readonly size: number
  /** How far it gets: packs stored without an entry, with one, or messages settled as well. */
  readonly reaches: 'stored' | 'entered' | 'settled'
  /** Its acknowledgement is lost: somebody does it again. */
  readonly again: boolean
}

const attempt = fc.record({
  first: fc.integer({ min: 1, max: 20 }),
  size: fc.integer({ min: 1, max: 6 }),
  reaches: fc.constantFrom('stored', 'entered', 'settled'),
  again: fc.boolean(),
}) as fc.Arbitrary<Attempt>

const messagesMax = 26
const deadEvery = 5

/** Message 5, 10, … has one dead event at each destination. */
const packOf = (
  destination: Destination,
  sequences: readonly number[],
  yieldOf: (s: number) => Yield,
  since: string,
): Pack => {
  const segments = new Segments()
  const dead: [number, number][] = []
  for (const sequence of sequences) {
    const events = yieldOf(sequence)[destination]
    if (events === 0) continue
    segments.add(sequence, 0, events)
    if (sequence % deadEvery === 0) dead.push([sequence, 1])
  }
  const text = segments.format()
  return { destination, id: `${destination}.${since}.${text}`, since, segments: text, dead }
}

class World {
  readonly entries: LedgerEntry[] = []
  readonly stored: Pack[] = []
  /** The run of the stream's sequences. */
  since = 'run 1'

  attempt({ first, size, reaches }: Attempt, yieldOf: (sequence: number) => Yield): void {
    const last = Math.min(messagesMax, first + size - 1)
    const sequences = Array.from({ length: last - first + 1 }, (_, at) => first + at)
    const packs = destinations
      .map((destination) => packOf(destination, sequences, yieldOf, this.since))
      .filter(({ segments }) => segments !== '')
    const { since } = this
    this.stored.push(...packs)
    if (reaches === 'stored') return
    for (const { destination, id, segments } of packs)
      this.entries.push({ type: 'pack', destination, pack: id, stream: 'records', since, segments })
    if (reaches !== 'settled') return
    for (const sequence of sequences)
      this.entries.push({
        type: 'input',
        stream: 'records',
        since,
        ranges: [[sequence, sequence]],
        counts: counts(yieldOf(sequence)),
      })
  }

  deliver({ destination, id, since, segments, dead }: Pack): void {
    const contents = { destination, pack: id, stream: 'records', since, segments } as const
    this.entries.push({
      type: 'delivered',
      ...contents,
      dead,
      retried: 0,
      target: 'kinesis',
      last: noOutcomes,
    })
  }
}

/** Runs a schedule to its end: every message is settled, every pack that was stored delivered, some twice. */
function play(
  attempts: readonly Attempt[],
  yieldOf: (sequence: number, attemptNumber: number) => Yield,
  deliverEarly: readonly boolean[],
): World {
  const world = new World()
  for (const [number, one] of attempts.entries()) {
    world.attempt(one, (sequence) => yieldOf(sequence, number))
    if (one.again) world.attempt(one, (sequence) => yieldOf(sequence, number))
    if (deliverEarly[number]) for (const pack of world.stored.splice(0)) world.deliver(pack)
  }
  const rest = { first: 1, size: messagesMax, reaches: 'settled', again: false } as const
  world.attempt(rest, (sequence) => yieldOf(sequence, attempts.length))
  for (const [at, pack] of world.stored.entries()) {
    world.deliver(pack)
    if (at % 3 === 0) world.deliver(pack)
  }
  return world
}

/** Entries that come while a snapshot is written. */
const whileWriting = 3

function booksOf(entries: readonly LedgerEntry[]): Books {
  let books = new Books()
  let snapshot = books.snapshot()
  for (const [at, entry] of entries.entries()) {
    books.add(entry)
    if (at % 7 === 0) snapshot = books.snapshot()
    if (at % 7 !== whileWriting) continue
    // Whoever keeps the books may change at any time: from the snapshot, and the ledger behind it.
    books = new Books(JSON.parse(JSON.stringify(snapshot)))
    for (const missed of entries.slice(at + 1 - whileWriting, at + 1)) books.add(missed)
  }
  return books
}

const schedule = fc.tuple(
  fc.array(attempt, { maxLength: 12 }),
  fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
)

const schedules = process.argv.includes('--full') ? 1_500 : 300

const nothing = { targets: [], sources: [] }

t.test('crashes: every message and every event counts once', async (t) => {
  const yieldOf = (sequence: number): Yield => ({ ed_a: sequence % 3, ed_b: sequence % 2 === 0 ? 2 : 0 })
  const expected = Array.from({ length: messagesMax }, (_, at) => yieldOf(at + 1))
  fc.assert(
    fc.property(schedule, ([attempts, early]) => {
      const books = booksOf(play(attempts, yieldOf, early).entries)
      if (books.records.records !== messagesMax) return false
      for (const destination of destinations) {
        const produced = expected.reduce((sum, one) => sum + one[destination], 0)
        const dead = expected.filter((one, at) => (at + 1) % deadEvery === 0 && one[destination] > 0).length
        const { delivered, dead_lettered, backlog, ...all } = books.destination(destination)
        if (all.produced !== produced || dead_lettered !== dead) return false
        if (delivered !== produced - dead || backlog !== 0 || all.dropped !== 0) return false
      }
      return books.snapshot().packs.length === 0
    }),
    { seed: 3, numRuns: schedules },
  )
  t.pass(`${schedules} schedules`)
})

t.test('crashes while the configuration changes: every produced event is accounted for', async (t) => {
  const changing = (sequence: number, number: number): Yield => ({
    ed_a: (sequence + number) % 3,
    ed_b: number % 4 === 0 ? 0 : 1,
  })
  fc.assert(
    fc.property(schedule, ([attempts, early]) => {
      const books = booksOf(play(attempts, changing, early).entries)
      const snapshot = books.snapshot()
      return destinations.every((destination) => {
        const { produced, delivered, dead_lettered } = books.destination(destination)
        return produced === delivered + dead_lettered && snapshot.packs.length === 0
      })
    }),
    { seed: 4, numRuns: schedules },
  )
  t.pass(`${schedules} schedules`)
})

t.test('recreated or restored streams, with late entries from before', async (t) => {
  const yieldOf = (sequence: number): Yield => ({ ed_a: sequence % 3, ed_b: 1 })
  const runs = fc.array(fc.constantFrom('run 1', 'run 2', 'run 3'), { minLength: 12, maxLength: 12 })
  fc.assert(
    fc.property(schedule, runs, ([attempts, early], sinceOf) => {
      const world = new World()
      for (const [number, one] of attempts.entries()) {
        world.since = sinceOf[number]!
        world.attempt(one, yieldOf)
        if (early[number]) for (const pack of world.stored) world.deliver(pack)
      }
      world.since = 'run 4'
      world.attempt({ first: 1, size: messagesMax, reaches: 'settled', again: false }, yieldOf)
      for (const pack of world.stored) world.deliver(pack)
      const books = booksOf(world.entries)
      return destinations.every((destination) => {
        const { produced, delivered, dead_lettered } = books.destination(destination)
        return produced === delivered + dead_lettered
      })
    }),
    { seed: 5, numRuns: schedules },
  )
  t.pass(`${schedules} schedules`)
})

const input = (sequence: number, run: string): LedgerEntry => ({
  type: 'input',
  stream: 'records',
  since: run,
  ranges: [[sequence, sequence]],
  counts: counts({ ed_a: 2, ed_b: 0 }),
})

t.test('a recreated stream: its sequences are other messages', async (t) => {
  const books = booksOf([input(1, 'a'), input(1, 'b'), input(2, 'b'), input(1, 'a'), input(2, 'b')])
  t.equal(books.records.records, 3)
  t.equal(books.destination('ed_a').produced, 6)
})

t.test('a deleted destination: undelivered events count as dropped, whenever they are entered', async (t) => {
  const books = booksOf([input(1, 'a'), { type: 'dropped', destination: 'ed_a' }, input(2, 'a')])
  t.match(books.destination('ed_a'), { produced: 4, delivered: 0, dropped: 4, backlog: 0 })
  books.add({
    type: 'delivered',
    destination: 'ed_a',
    pack: 'p',
    stream: 'records',
    since: 'a',
    segments: '3:2',
    dead: [],
    retried: 0,
    target: 'kinesis',
    last: noOutcomes,
  })
  t.match(books.destination('ed_a'), { produced: 4, delivered: 2, dropped: 2, backlog: 0 })
})

t.test('a replay counts beside the records that it processes again, also if it is cancelled', async (t) => {
  const stream = 'replay.rp_1' as const
  const none = { records: 0, bad: 0, tcp_connection: 0, http_request: 0, allow: 0, block: 0, deny: 0 }
  const sources: SourceTally[] = [['es_1', 'replayed', 'ed_a', 2, 1]]
  const again = (pack: string, sequence: number) => {
    const contents = { destination: 'ed_a', pack, stream, since: 'a', segments: `${sequence}:2` }
    const delivered = { ...contents, target: 'kinesis', dead: [], retried: 0, last: noOutcomes }
    return { stored: { type: 'pack', ...contents }, delivered: { type: 'delivered', ...delivered } } as const
  }
  const books = booksOf([
    input(1, 'a'),
    again('p1', 1).stored,
    { type: 'input', stream, since: 'a', ranges: [[1, 1]], counts: { ...none, sources } },
    again('p1', 1).delivered,
    // The replay ends before this message is settled.
    again('p2', 2).stored,
    { type: 'replay_ended', stream },
  ])
  t.equal(books.records.records, 1)
  t.match(books.destination('ed_a'), { produced: 6, filtered: 1, delivered: 2, backlog: 4 })
  const kept = new Books(JSON.parse(JSON.stringify(books.snapshot())))
  for (const known of [books, kept]) {
    known.add(again('p2', 2).delivered)
    known.add({ type: 'replay_ended', stream })
    t.match(known.destination('ed_a'), { produced: 6, delivered: 4, backlog: 2 })
  }
  for (let n = 0; n < 100; n += 1) {
    const other = `replay.rp_${n}` as const
    books.add({
      type: 'input',
      stream: other,
      since: 'a',
      ranges: [[1, 1]],
      counts: { ...none, sources: [] },
    })
    books.add({ type: 'replay_ended', stream: other })
  }
  t.ok(books.snapshot().runs.length < 30, 'only the last ones are remembered')
})

t.test(
  'a dead letter that is sent again counts once, however often, and whatever of it is repeated',
  async (t) => {
    const stream = 'dead_letters' as const
    const pack = (id: string, segments: string) => {
      const contents = { destination: 'ed_a', pack: id, stream, since: 'a', segments }
      const ends = { ...contents, target: 'kinesis', retried: 0, last: noOutcomes }
      const delivered = (...dead: [number, number][]) => ({ type: 'delivered' as const, ...ends, dead })
      return { stored: { type: 'pack' as const, ...contents }, delivered }
    }
    const [first, second, third] = [pack('p1', '1-3:1'), pack('p2', '2-4:1'), pack('p3', '9:1')]
    const books = booksOf([first.stored, first.stored, second.stored])
    t.match(books.destination('ed_a'), { produced: 4, delivered: 0, backlog: 4 })
    // The process that stored the third pack died before it was entered.
    for (const entry of [first.delivered([3, 1]), second.delivered(), third.delivered(), first.delivered()])
      books.add(entry)
    const kept = new Books(JSON.parse(JSON.stringify(books.snapshot())))
    for (const known of [books, kept]) {
      t.match(known.destination('ed_a'), { produced: 5, delivered: 4, dead_lettered: 1, backlog: 0 })
      known.add(second.stored)
      known.add(third.delivered())
      t.match(known.destination('ed_a'), { produced: 5, delivered: 4, dead_lettered: 1, backlog: 0 })
    }
    t.match(
      booksMetrics(books, () => 'kinesis', nothing),
      /^weir_events_produced_total\{kind="resent",target="kinesis"\} 5$/m,
    )
  },
)

t.test('retried events count, also those of packs that another process finishes', async (t) => {
  const books = booksOf([
    input(1, 'a'),
    { type: 'retried', destination: 'ed_a', retried: 3 },
    { type: 'retried', destination: 'ed_a', retried: 2 },
  ])
  const kept = new Books(JSON.parse(JSON.stringify(books.snapshot())))
  for (const known of [books, kept])
    t.match(known.destination('ed_a'), { produced: 2, delivered: 0, retried: 5, backlog: 2 })
})

t.test('a deleted destination: the counters of its kind never decrease', async (t) => {
  const told: LedgerEntry = { type: 'destination', destination: 'ed_a', target: 'firehose' }
  const books = booksOf([told, input(1, 'a'), input(2, 'a')])
  const targets = (metrics: string) => new Set(metrics.match(/target="\w+"/g))
  t.strictSame(targets(booksMetrics(books, () => 'firehose', nothing)), new Set(['target="firehose"']))
  books.add({ type: 'dropped', destination: 'ed_a' })
  const kept = new Books(JSON.parse(JSON.stringify(books.snapshot())))
  for (const known of [books, kept]) {
    const metrics = booksMetrics(known, () => undefined, nothing)
    t.strictSame(targets(metrics), new Set(['target="firehose"']))
    t.match(metrics, /^weir_events_produced_total\{kind="log.v0",target="firehose"\} 4$/m)
    t.match(metrics, /^weir_events_dropped_total\{target="firehose"\} 4$/m)
  }
  const nobodyTold = booksMetrics(booksOf([input(1, 'a')]), () => undefined, nothing)
  t.match(nobodyTold, /^weir_events_produced_total\{kind="log.v0",target="unknown"\} 2$/m)
})

t.test(
  'the last success and the last error are the latest of all processes, in whatever order they are entered',
  async (t) => {
    const at = (second: number): string => `2026-11-20T10:00:0${second}.000Z`
    const fault = (second: number) => ({ at: at(second), code: 'Timeout', msg: 'It timed out.' })
    const delivered = (pack: string, last: LastOutcomes): LedgerEntry => ({
      type: 'delivered',
      destination: 'ed_a',
      target: 'kinesis',
      pack,
      stream: 'records',
      since: 'a',
      segments: '1:1',
      dead: [],
      retried: 0,
      last,
    })
    const books = booksOf([
      delivered('p1', { last_success_at: at(5), last_error: null }),
      delivered('p2', { last_success_at: at(3), last_error: fault(2) }),
      delivered('p3', { last_success_at: null, last_error: fault(1) }),
    ])
    const kept = new Books(JSON.parse(JSON.stringify(books.snapshot())))
    for (const known of [books, kept])
      t.strictSame(known.lastOutcomes('ed_a'), { last_success_at: at(5), last_error: fault(2) })
    t.strictSame(books.lastOutcomes('ed_b'), noOutcomes)
  },
)

t.test('a pack that vanished counts once, by kind, unless it was delivered before', async (t) => {
  const books = new Books()
  const of = { destination: 'ed_a', stream: 'records', since: 'run 1' } as const
  const kinds = [
    ['log.v0', 2],
    ['tcp_connection_closed.v0', 1],
  ] as const
  const stored = (sequence: number, segments = `${sequence}:3`): LedgerEntry => {
    const held = { sequence, kinds, first: sequence, last: sequence + 10 }
    return { type: 'pack', ...of, pack: `ed_a.${sequence}`, segments, ...held }
  }
  const settled = (sequence: number): LedgerEntry => ({
    type: 'input',
    stream: 'records',
    since: 'run 1',
    ranges: [[sequence, sequence]],
    counts: counts({ ed_a: 3, ed_b: 0 }),
  })
  const delivered = (sequence: number): LedgerEntry => ({
    type: 'delivered',
    ...of,
    pack: `ed_a.${sequence}`,
    segments: `${sequence}:3`,
    dead: [],
    retried: 0,
    target: 'kinesis',
    last: noOutcomes,
  })
  const vanished: LedgerEntry = {
    type: 'vanished',
    destination: 'ed_a',
    at: 1_000,
    packs: ['ed_a.1', 'ed_a.2', 'ed_a.3', 'ed_a.unknown'],
  }
  for (const sequence of [1, 2, 3, 4])
    for (const entry of [stored(sequence), settled(sequence)]) books.add(entry)
  books.add(delivered(2))
  for (const entry of [vanished, vanished, stored(1), delivered(1)]) books.add(entry)
  const kept = new Books(JSON.parse(JSON.stringify(books.snapshot())))
  for (const known of [books, kept]) {
    t.match(known.destination('ed_a'), { produced: 12, delivered: 3, dropped: 6, backlog: 3 })
    t.strictSame(known.dropped('ed_a', 'age').kinds, {})
    t.match(known.dropped('ed_a', 'vanished'), {
      kinds: { 'log.v0': 4, 'tcp_connection_closed.v0': 2 },
      episode: { beganAt: 1_000, first: 1, last: 13 },
    })
    t.match(
      booksMetrics(known, () => 'kinesis', nothing),
      /^weir_events_vanished_total\{kind="log.v0",target="kinesis"\} 4$/m,
    )
    t.strictSame([...known.openPacks.keys()], ['ed_a.4'])
    known.add({ ...stored(4), sequence: 9 } as LedgerEntry)
    t.match(
      known.openPacks.get('ed_a.4'),
      { events: 3, sequence: 9 },
      'it was stored again, in another stream',
    )
  }
  // The same messages again, of a pipeline that was killed: only what is new in it counts.
  books.add({ ...stored(5, '4-5:3'), pack: 'ed_a.5' } as LedgerEntry)
  books.add(settled(5))
  books.add({ type: 'vanished', destination: 'ed_a', at: 2_000, packs: ['ed_a.5'] })
  t.match(books.destination('ed_a'), { produced: 15, dropped: 9, backlog: 3 })
})

t.test('dropped events count once, by kind, and only those that the pack counts', async (t) => {
  const dropped = (pack: string, segments: string, kinds: [string, string][], at = 1_000): LedgerEntry => ({
    type: 'delivered',
    destination: 'ed_a',
    target: 'kinesis',
    pack,
    stream: 'records',
    since: 'run 1',
    segments,
    dead: [],
    retried: 0,
    last: noOutcomes,
    dropped: { kinds, first: 10, last: 20, at },
  })
  const settled = (sequence: number): LedgerEntry => ({
    type: 'input',
    stream: 'records',
    since: 'run 1',
    ranges: [[sequence, sequence]],
    counts: counts({ ed_a: 3, ed_b: 0 }),
  })
  const pack = { type: 'pack', destination: 'ed_a', stream: 'records', since: 'run 1' } as const
  const first = dropped('p1', '1-2:3', [
    ['log.v0', '1-2:1'],
    ['tcp_connection_closed.v0', '1:1'],
  ])
  const books = booksOf([
    { ...pack, pack: 'p1', segments: '1-2:3' },
    settled(1),
    settled(2),
    first,
    first,
    // The same messages in another pack, of a process that died.
    dropped('p2', '2:3', [['log.v0', '2:3']]),
  ])
  const kept = new Books(JSON.parse(JSON.stringify(books.snapshot())))
  for (const known of [books, kept]) {
    t.match(known.destination('ed_a'), { produced: 6, delivered: 3, dropped: 3, backlog: 0 })
    t.strictSame(known.dropped('ed_a', 'age').kinds, { 'log.v0': 2, 'tcp_connection_closed.v0': 1 })
    const metrics = booksMetrics(known, () => 'kinesis', nothing)
    t.match(metrics, /^weir_events_expired_total\{kind="log.v0",target="kinesis"\} 2$/m)
    t.match(metrics, /^weir_events_dropped_total\{target="kinesis"\} 3$/m)
  }
  const later = 1_000 + 2 * 60 * 60_000
  for (const [at, sequence] of [
    [1_500, 3],
    [later, 4],
  ] as const) {
    books.add({ ...pack, pack: `p${sequence}`, segments: `${sequence}:3` })
    books.add(settled(sequence))
    books.add(dropped(`p${sequence}`, `${sequence}:3`, [['log.v0', `${sequence}:3`]], at))
    const { kinds } = books.dropped('ed_a', 'age').episode!
    t.equal(kinds['log.v0'], at === later ? 3 : 5, 'an episode ends with an hour without a drop')
  }
  books.add({ type: 'dropped', destination: 'ed_a' })
  t.match(books.destination('ed_a'), { produced: 12, delivered: 3, dropped: 9, backlog: 0 })
})
