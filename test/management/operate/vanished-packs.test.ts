/**
 * Packs that the books know and the stream has not: counted as dropped, but never one that is still to be delivered. A
 * model of the stream and of deliverers; the books are real.
 */
import fc from 'fast-check'
import t from 'tap'
import { Books } from '../../../src/delivery/books/books.js'
import { type LedgerEntry, noRecords, type PackContents } from '../../../src/delivery/books/ledger.js'
import { readEntries } from '../../../src/delivery/books/ledger-lines.js'
import { noOutcomes } from '../../../src/delivery/wire/delivery-attempts.js'
import { onePartition, partitionsUpTo } from '../../../src/delivery/wire/partitions.js'
import { VanishedPacks } from '../../../src/management/operate/vanished-packs.js'
import { deliverySubject } from '../../harness/first-partition.js'

const destinations = ['ed_a', 'ed_b'] as const
const kinds = [
  ['log.v0', 2],
  ['tcp_connection_closed.v0', 1],
] as const
const eventsOf = kinds.reduce((sum, [, count]) => sum + count, 0)
const look = 5_000

class World {
  readonly entries: LedgerEntry[] = []
  /** The ledger up to the last entry that the books of the API have. */
  books = new Books()
  stored: { readonly id: string; readonly destination: string; readonly sequence: number }[] = []
  held = new Set<string>()
  answers = true
  lastSequence = 0
  nowMs = 1_000_000
  reads = 0
  #input = 0
  vanished = this.#open()

  #open(): VanishedPacks {
    return new VanishedPacks({
      partitions: onePartition,
      nats: {
        streamInfo: async () => ({ state: { last_seq: this.lastSequence } }) as never,
        subjectCounts: async () => {
          const counts: Record<string, number> = {}
          for (const { destination } of this.stored)
            counts[deliverySubject(destination)] = (counts[deliverySubject(destination)] ?? 0) + 1
          return counts
        },
        nextMessage: async (_, subject, from = 1) => {
          this.reads += 1
          const next = this.stored.find(
            ({ destination, sequence }) => deliverySubject(destination) === subject && sequence >= from,
          )
          return next && ({ sequence: next.sequence, headers: new Map([['Nats-Msg-Id', next.id]]) } as never)
        },
        gather: async (_, asked) => {
          if (!this.answers) return undefined
          const held = (JSON.parse(asked) as string[]).filter((id) => this.held.has(id))
          return [Buffer.from('[]'), Buffer.from(JSON.stringify(held))]
        },
        publish: async (_, data) => {
          for (const entry of readEntries(Buffer.from(data as string))) this.enter(entry)
          return { sequence: 0, duplicate: false }
        },
      },
      openPacks: () => this.books.openPacks,
      isDestination: () => true,
      occurrences: { expiryUnwatched: (fields) => t.fail(JSON.stringify(fields)) },
    })
  }

  enter(entry: LedgerEntry): void {
    this.entries.push(entry)
  }

  readLedger(): void {
    this.books = new Books()
    for (const entry of this.entries) this.books.add(entry)
  }

  #contents(destination: string, input: number): PackContents {
    const segments = `${input}:${eventsOf}`
    return { destination, pack: `${destination}.${input}`, stream: 'records', since: 'run', segments }
  }

  produce(destination: string): void {
    this.#input += 1
    this.lastSequence += 1
    const sequence = this.lastSequence
    const contents = this.#contents(destination, this.#input)
    this.stored.push({ id: contents.pack, destination, sequence })
    this.enter({ type: 'pack', ...contents, sequence, kinds, first: this.#input, last: this.#input + 1 })
    const sources = kinds.map(([kind, count]) => ['es_1', kind, destination, count, 0] as const)
    const ranges = [[this.#input, this.#input] as const]
    const counts = { ...noRecords, records: 1, sources }
    this.enter({ type: 'input', stream: 'records', since: 'run', ranges, counts })
  }

  /** A deliverer has it in hand, whether or not it is still in the stream. */
  deliver(id: string): void {
    const [destination = '', input] = id.split('.')
    const ended = { target: 'kinesis', dead: [], retried: 0, last: noOutcomes }
    this.enter({ type: 'delivered', ...this.#contents(destination, Number(input)), ...ended })
    this.stored = this.stored.filter((pack) => pack.id !== id)
    this.held.delete(id)
  }

  async look(): Promise<void> {
    this.nowMs += look
    await this.vanished.lookAt(this.nowMs)
  }

  async settle(looks: number): Promise<void> {
    for (let count = 0; count < looks; count += 1) {
      this.readLedger()
      await this.look()
    }
    this.readLedger()
  }

  restartApi(): void {
    this.vanished.close()
    this.vanished = this.#open()
  }

  /** Deliveries of packs that had been counted as vanished. */
  get wronglyCounted(): string[] {
    const counted = new Set<string>()
    const wrong: string[] = []
    for (const entry of this.entries) {
      if (entry.type === 'vanished') for (const id of entry.packs) counted.add(id)
      if (entry.type === 'delivered' && counted.has(entry.pack)) wrong.push(entry.pack)
    }
    return wrong
  }
}

const steps = fc.oneof(
  { weight: 4, arbitrary: fc.constant('produce' as const) },
  { weight: 3, arbitrary: fc.constant('fetch' as const) },
  { weight: 3, arbitrary: fc.constant('deliver' as const) },
  { weight: 1, arbitrary: fc.constant('give back' as const) },
  { weight: 1, arbitrary: fc.constant('delete' as const) },
  { weight: 1, arbitrary: fc.constant('purge' as const) },
  { weight: 1, arbitrary: fc.constant('recreate' as const) },
  { weight: 1, arbitrary: fc.constant('restart' as const) },
  { weight: 1, arbitrary: fc.constant('silence' as const) },
  { weight: 2, arbitrary: fc.constant('read ledger' as const) },
  { weight: 4, arbitrary: fc.constant('look' as const) },
)

t.test('whatever is removed, and whenever', async (t) => {
  const step = fc.record({ does: steps, to: fc.constantFrom(...destinations), at: fc.nat() })
  let counted = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (schedule) => {
      const world = new World()
      for (const { does, to, at } of schedule) {
        const [stored, held] = [world.stored, [...world.held]]
        const pack = stored[at % Math.max(1, stored.length)]
        if (does === 'produce') world.produce(to)
        else if (does === 'fetch' && pack) world.held.add(pack.id)
        else if (does === 'deliver' && held.length > 0) world.deliver(held[at % held.length]!)
        else if (does === 'give back') world.held.delete(held[at % Math.max(1, held.length)] ?? '')
        else if (does === 'delete') world.stored = stored.filter((one) => one !== pack)
        else if (does === 'purge') world.stored = stored.filter(({ destination }) => destination !== to)
        else if (does === 'recreate') [world.stored, world.lastSequence] = [[], 0]
        else if (does === 'restart') world.restartApi()
        else if (does === 'silence') world.answers = !world.answers
        else if (does === 'read ledger') world.readLedger()
        else if (does === 'look') await world.look()
      }
      world.answers = true
      for (const id of world.held) world.deliver(id)
      await world.settle(12)
      t.strictSame(world.wronglyCounted, [])
      for (const id of destinations) {
        const { produced, delivered, dropped, backlog } = world.books.destination(id)
        const waiting = world.stored.filter(({ destination }) => destination === id).length * eventsOf
        const lost = (produced - delivered - waiting) / eventsOf
        t.equal(backlog, waiting, 'what is stored waits, and nothing else')
        t.equal(dropped, lost * eventsOf)
        const expected = lost === 0 ? {} : Object.fromEntries(kinds.map(([kind, of]) => [kind, of * lost]))
        t.strictSame(world.books.dropped(id, 'vanished').kinds, expected)
        counted += lost
      }
      world.vanished.close()
    }),
    { numRuns: process.argv.includes('--full') ? 500 : 50 },
  )
  t.ok(counted > 0)
})

t.test('nothing counts before it was missing for a while, nor if no deliverer answers', async (t) => {
  const world = new World()
  t.teardown(() => world.vanished.close())
  for (let count = 0; count < 3; count += 1) world.produce('ed_a')
  world.stored = []
  world.answers = false
  await world.settle(20)
  t.match(world.books.destination('ed_a'), { backlog: 9, dropped: 0 })
  world.answers = true
  await world.settle(3)
  t.match(world.books.destination('ed_a'), { backlog: 9, dropped: 0 })
  await world.settle(3)
  t.match(world.books.destination('ed_a'), { backlog: 0, dropped: 9 })
  t.match(world.books.dropped('ed_a', 'vanished').episode, { first: 1, last: 4 })
})

t.test('single packs among many are found a few reads at a time', async (t) => {
  const world = new World()
  t.teardown(() => world.vanished.close())
  for (let count = 0; count < 100; count += 1) world.produce('ed_a')
  await world.settle(10)
  t.equal(world.reads, 0, 'nothing is read as long as nothing is missing')
  world.stored = world.stored.filter(({ sequence }) => sequence !== 50 && sequence !== 90)
  await world.look()
  t.ok(world.reads <= 20)
  await world.settle(12)
  t.match(world.books.destination('ed_a'), { backlog: 98 * eventsOf, dropped: 2 * eventsOf })
  const { reads } = world
  await world.settle(3)
  t.equal(world.reads, reads)
})

t.test(
  'a pack from before its sequence was entered counts once nothing of its destination is there',
  async (t) => {
    const world = new World()
    t.teardown(() => world.vanished.close())
    world.produce('ed_a')
    world.produce('ed_a')
    for (const [at, entry] of world.entries.entries())
      if (entry.type === 'pack') {
        const { sequence: _, kinds: __, first: ___, last: ____, ...old } = entry
        world.entries[at] = old
      }
    const [, kept] = world.stored
    world.stored = [kept!]
    await world.settle(10)
    t.match(world.books.destination('ed_a'), { backlog: 6, dropped: 0 })
    world.stored = []
    await world.settle(10)
    t.match(world.books.destination('ed_a'), { backlog: 0, dropped: 6 })
    t.strictSame(world.books.dropped('ed_a', 'vanished').kinds, { unknown: 6 })
  },
)

t.test('packs of a partition that was deleted are counted, those of one that is made are not', async (t) => {
  for (const { all, subjects, others, isLost } of [
    { all: 1, subjects: ['weir.deliveries.>'], others: [], isLost: true },
    { all: 1, subjects: ['weir.deliveries.*'], others: [], isLost: false },
    { all: 2, subjects: ['weir.deliveries.*'], others: [], isLost: true },
    { all: 2, subjects: ['weir.deliveries.*'], others: ['WEIR_DELIVERIES_3'], isLost: false },
  ]) {
    const books = new Books()
    const segments = `1:${eventsOf}`
    const origin = { stream: 'records', since: 'run', segments } as const
    const pack = { destination: 'ed_a', pack: 'ed_a.1', ...origin, sequence: 1, partition: 3 }
    books.add({ type: 'pack', ...pack, kinds, first: 1, last: 2 })
    const entered: LedgerEntry[] = []
    const vanished = new VanishedPacks({
      partitions: { all: partitionsUpTo(all) },
      nats: {
        streamInfo: async (stream) =>
          stream === 'WEIR_DELIVERIES' || others.includes(stream)
            ? ({ state: { last_seq: 0 }, config: { subjects } } as never)
            : undefined,
        subjectCounts: async () => ({}),
        nextMessage: async () => undefined,
        gather: async () => [Buffer.from('[]')],
        publish: async (_, data) => {
          entered.push(...readEntries(Buffer.from(data as string)))
          return { sequence: 0, duplicate: false }
        },
      },
      openPacks: () => books.openPacks,
      isDestination: () => true,
      occurrences: { expiryUnwatched: (fields) => t.fail(JSON.stringify(fields)) },
    })
    for (let looks = 0; looks < 6; looks += 1) await vanished.lookAt(1_000_000 + looks * look)
    vanished.close()
    t.equal(entered.length > 0, isLost, `${all} partitions, ${subjects}, ${others.join() || 'no others'}`)
  }
})
