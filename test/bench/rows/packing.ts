/**
 * What packing saves: the process's time per event, from a full request to its answer over HTTP with the real SDK, and
 * what AWS bills. The server accepts every record.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { kindNamed, openSender } from '../../../src/deliver/kinds.js'
import { type Packing, packings, recordsOf } from '../../../src/deliver/packing.js'
import { someEvents } from '../../deliver/events.js'
import type { BenchRow, BenchTools, Measure } from '../bench.js'

const creds = { aws_access_key_id: 'AKIATEST', aws_secret_access_key: 'the secret' }
/** With their ids and the rest of the JSON, about as large as an event with all fields of a TCP connection. */
const events = someEvents(500, 'ev_', { padding: 'x'.repeat(420) })

/** The first requests load and compile the SDK. */
const requestsAtOnce = 20

interface Service {
  readonly kind: string
  /** What is billed for each begun one of a record: see `docs/operating.md`. */
  readonly stepBytes: number
  readonly answer: (records: number) => object
}

const services: readonly Service[] = [
  {
    kind: 'kinesis',
    stepBytes: 25_000,
    answer: (records) => ({
      FailedRecordCount: 0,
      Records: Array.from({ length: records }, () => ({
        SequenceNumber: '4'.repeat(56),
        ShardId: 'shardId-000000000000',
      })),
    }),
  },
  {
    kind: 'firehose',
    stepBytes: 5_000,
    answer: (records) => ({
      FailedPutCount: 0,
      RequestResponses: Array.from({ length: records }, () => ({ RecordId: 'x'.repeat(220) })),
    }),
  },
]

const recordsFor = (kind: string, packing: Packing) => recordsOf(events, packing, kindNamed(kind).packing!)

async function nsPerEvent(
  { kind, answer }: Service,
  { compare }: BenchTools,
): Promise<Record<Packing, number>> {
  const opened = await Promise.all(
    packings.map(async (packing) => {
      const body = JSON.stringify(answer(recordsFor(kind, packing).length))
      const server = createServer((request, response) => {
        request.resume().on('end', () => {
          response.setHeader('content-type', 'application/x-amz-json-1.1')
          response.end(body)
        })
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { address, requestBytes } = kindNamed(kind)
      const sender = openSender(
        {
          id: 'ed_1',
          accountId: 'ac_1',
          kind,
          address: address.example,
          auth: { creds },
          packing,
        },
        {
          aws: { endpointUrl },
          requestTimeoutMs: 15_000,
          kinds: { [kind]: { requestBytesMax: requestBytes.max } },
        },
      )
      return { packing, sender, server }
    }),
  )
  const { signal } = new AbortController()
  const send = async ({ sender }: (typeof opened)[number]): Promise<number> => {
    for (let request = 0; request < requestsAtOnce; request += 1) {
      const { outcome } = await sender.send(events, signal)
      if (outcome !== 'accepted') throw new Error(`A request ended with ${outcome}.`)
    }
    return requestsAtOnce * events.length
  }
  try {
    const contenders = Object.fromEntries(opened.map((each) => [each.packing, () => send(each)]))
    return await compare(contenders as Record<Packing, () => Promise<number>>)
  } finally {
    for (const { sender, server } of opened) {
      sender.close()
      server.close()
    }
  }
}

const stepsBilled = ({ kind, stepBytes }: Service, packing: Packing): number =>
  recordsFor(kind, packing).reduce((sum, { dataBytes }) => sum + Math.ceil(dataBytes / stepBytes), 0)

export const row: BenchRow = {
  name: 'packing',
  inCi: true,
  mustReach: 'with several events in a record, less time per event, and a fraction of what is billed',
  async run(bench) {
    const measures: Measure[] = []
    const nsPerOperation: Record<string, number> = {}
    for (const service of services) {
      const { kind } = service
      const ns = await nsPerEvent(service, bench)
      for (const packing of packings) nsPerOperation[`${kind}, packing ${packing}`] = ns[packing]
      const billed = stepsBilled(service, 'none') / stepsBilled(service, 'ndjson')
      measures.push(
        { name: `${kind}: time per event, packed or not`, ratio: ns.ndjson / ns.none, bound: { atMost: 1 } },
        { name: `${kind}: less is billed`, ratio: billed, bound: { atLeast: kind === 'kinesis' ? 40 : 9 } },
      )
    }
    return { measures, nsPerOperation }
  },
}
