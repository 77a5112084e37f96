/**
 * How long a steady stream of records waits for neighbours that do their worst: 200 records per second, one per message,
 * from publication until Kinesis has accepted the event. Next to it, each kind of neighbour publishes as often as a pipeline
 * can take it in the long run: a stream that is given more than that falls behind, whatever it holds. Turns with and without
 * alternate.
 */
import { gzipSync } from 'node:zlib'
import { inputConsumer } from '../../../src/delivery/wire/names.js'
import type { Nats } from '../../../src/ground/nats/nats.js'
import { recordsStream } from '../../harness/first-partition.js'
import { until } from '../../harness/weir.js'
import { type BenchRow, median } from '../bench.js'
import { Latencies } from '../systems/latencies.js'
import { openWeir, withClosers } from '../systems/system.js'
import { record } from '../systems/traffic.js'

const recordsPerSecond = 200
/** A record waits for no neighbour longer than this. */
const waitMsMax = 1_000
const neighbourServer = 'neighbour.example.com'
const atOnce = 2
/** Of messages of a kind, if they are not much more work than others. */
const usually = 5

interface Message {
  readonly data: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

const text = (line: string, lines: number): Uint8Array => Buffer.from(`${line}\n`.repeat(lines))
const gzipped = (data: Uint8Array): Message => ({
  data: gzipSync(data),
  headers: { 'Weir-Encoding': 'gzip' },
})
/** A record of another account, as large as one may be. */
const largest = (n: number): string => {
  const json = record(n, neighbourServer)
  return json.replace('"ingress":"', `"ingress":"${'x'.repeat(64 * 1024 - json.length - 1)}`)
}

/** A record of another account, as small as one may be. */
const small = (n: number): string =>
  `{"record_id":"n${n}","type":"tcp_connection","conn":{"client_ip":"10.0.0.1","server_name":"${neighbourServer}","server_port":22}}`

/** Each message of a kind is another one: equal ones could be stored once. */
interface Kind {
  readonly messageOf: (n: number) => Message
  readonly messagesPerSecond: number
}

const kinds: Readonly<Record<string, Kind>> = {
  'lines that are no records': {
    messageOf: (n) => ({ data: text(`{"n":${n}}`, 19_000) }),
    messagesPerSecond: usually,
  },
  'lines that are no JSON': {
    messageOf: (n) => ({ data: text(`no JSON ${n}`, 19_000) }),
    messagesPerSecond: usually,
  },
  'the largest records': {
    messageOf: (n) => ({
      data: Buffer.from(Array.from({ length: 14 }, (_, at) => largest(n * 14 + at)).join('\n')),
    }),
    messagesPerSecond: usually,
  },
  'records that cost another account many steps': {
    messageOf: (n) =>
      gzipped(Buffer.from(Array.from({ length: 19_000 }, (_, at) => small(n * 19_000 + at)).join('\n'))),
    messagesPerSecond: 0.1,
  },
  'many lines in few bytes (gzip)': {
    messageOf: (n) => gzipped(text(`{"n":${n}}`, 5_000_000 / 8)),
    messagesPerSecond: usually,
  },
  'many bytes in few (gzip)': {
    messageOf: (n) => gzipped(Buffer.concat([Buffer.from(`{"n":${n}}`), Buffer.alloc(60_000_000, 32)])),
    messagesPerSecond: 1,
  },
  'damaged gzip': {
    messageOf: (n) => ({
      data: gzipSync(text(`{"n":${n}}`, 100_000)).subarray(0, -9),
      headers: { 'Weir-Encoding': 'gzip' },
    }),
    messagesPerSecond: usually,
  },
}

/**
 * The messages of a turn, made before it: making them takes this process, which publishes and measures, up to a good part of
 * a second each.
 */
const messagesOf = ({ messageOf, messagesPerSecond }: Kind, seconds: number, turn: number): Message[] =>
  Array.from({ length: Math.ceil(messagesPerSecond * seconds) }, (_, n) => messageOf(turn * 1_000 + n))

/** Publishes the messages, evenly, until they or the turn have ended; then waits until pipelines are done with them. */
async function annoy(
  nats: Nats,
  messages: readonly Message[],
  messagesPerSecond: number,
  turn: { isOver: boolean },
): Promise<number> {
  let published = 0
  const beganMs = Date.now()
  const publishing = async (): Promise<void> => {
    while (!turn.isOver && published < messages.length) {
      const { data, headers } = messages[published]!
      const dueInMs = beganMs + (published * 1_000) / messagesPerSecond - Date.now()
      published += 1
      if (dueInMs > 0) await new Promise((resolve) => setTimeout(resolve, dueInMs))
      // The storage may be full of what it sent.
      await nats.publish('weir.records.eu.neighbour', data, headers && { headers }).catch(() => {})
    }
  }
  await Promise.all(Array.from({ length: atOnce }, publishing))
  // Messages that a turn leaves behind would slow the next one down, which may be one without.
  await until('pipelines are done', async () => {
    const consumer = await nats.consumerInfo(recordsStream, inputConsumer)
    return consumer?.unacknowledged === 0
  })
  return published
}

export const row: BenchRow = {
  name: 'neighbours',
  mustReach: `a steady stream next to hostile ones: for 99 of 100 records, at most ${waitMsMax} ms longer than without them`,
  run: ({ quick }) =>
    withClosers(async (closers) => {
      const weir = await openWeir(closers, { keep: 'all' })
      const other = await weir.openAccount()
      const slow = "matches(conn.server_name + '.' + conn.server_name, '(a|b|neighbour|.)*x$')"
      await other.tcpEdge.create({
        hostports: [`${neighbourServer}:22`],
        policies: {
          inbound: Array.from({ length: 20 }, (_, n) => ({
            name: `slow ${n}`,
            expressions: Array.from({ length: 10 }, () => `!${slow}`),
            actions: [{ type: 'log' as const, config: { Metadata: { n: String(n) } } }],
          })),
        },
      })
      const steady = new Latencies(weir, recordsPerSecond)
      const nats = await weir.openNats()
      const records = (quick ? 2 : 10) * recordsPerSecond
      await steady.turn(records)
      const measures = []
      const nsPerOperation: Record<string, number> = {}
      for (const [name, kind] of Object.entries(kinds)) {
        const [alone, beside]: [number[], number[]] = [[], []]
        for (let turn = 0; turn < (quick ? 1 : 3); turn += 1) {
          alone.push((await steady.turn(records)).p99)
          const messages = messagesOf(kind, records / recordsPerSecond, turn)
          const during = { isOver: false }
          const annoying = annoy(nats, messages, kind.messagesPerSecond, during)
          beside.push((await steady.turn(records)).p99)
          during.isOver = true
          console.log(`        ${name}: ${await annoying} messages`)
        }
        const [without, withIt] = [median(alone), median(beside)]
        const bound = { atMost: 1 + waitMsMax / without }
        measures.push({ name: `p99 next to ${name}, of that without`, ratio: withIt / without, bound })
        nsPerOperation[`${name}, p99`] = withIt * 1e6
        nsPerOperation[`without ${name}, p99`] = without * 1e6
      }
      return { measures, nsPerOperation }
    }),
}
