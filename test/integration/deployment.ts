/**
 * A deployment with traffic and the events it must deliver, to three destinations: the first gets every connection, the
 * second those from blocked networks only, the third log actions.
 */

import type { Nats } from '../../src/ground/nats/nats.js'
import { ApiError, type Client, type NewSource } from '../../src/words/client/client.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { tempDir } from '../harness/temp-dir.js'
import {
  type Emulator,
  type RunningWeir,
  type Serve,
  startEmulator,
  startWeir,
  until,
} from '../harness/weir.js'

export const token = 'a-token-of-the-tests-0001'

export const destinationNames = ['all', 'filtered', 'logs'] as const
export type DestinationName = (typeof destinationNames)[number]

export interface Deployment {
  readonly emulator: Emulator
  weir: RunningWeir
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  readonly destinations: Readonly<Record<DestinationName, string>>
  readonly edgeId: string
}

interface Test {
  teardown(close: () => unknown): void
}

export async function openDeployment(
  t: Test,
  env: Readonly<Record<string, string>> = {},
  serve?: Serve,
): Promise<Deployment> {
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const dataDir = tempDir(t)
  const all = { AWS_ENDPOINT_URL: emulator.url, WEIR_BOOTSTRAP_TOKEN: token, ...env }
  const weir = await startWeir(dataDir, all, '', serve)
  const deployment = {
    emulator,
    weir,
    dataDir,
    env: all,
    ...(await configure(weir.api, emulator)),
  }
  t.teardown(() => deployment.weir.stop())
  await untilInUse(weir)
  return deployment
}

export async function configure(
  weir: Client,
  emulator: Emulator,
): Promise<Pick<Deployment, 'destinations' | 'edgeId'>> {
  const policy = await weir.ipPolicy.create({})
  await weir.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '10.0.0.0/8', action: 'allow' })
  const edge = await weir.tcpEdge.create({
    hostports: ['ssh.example.com:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
    policies: {
      inbound: [
        {
          name: 'every other port',
          expressions: ['conn.client_port % 2 == 0'],
          actions: [{ type: 'log', config: { Metadata: { parity: 'even' } } }],
        },
      ],
    },
  })
  const destination = async (name: DestinationName, packing?: 'ndjson'): Promise<string> =>
    (await weir.eventDestination.create(target(await stream(emulator, name), emulator, packing))).id
  const destinations = {
    all: await destination('all'),
    filtered: await destination('filtered'),
    // Whatever these tests do, they do it to packed records, too.
    logs: await destination('logs', 'ndjson'),
  }
  const subscribe = (name: DestinationName, source: NewSource) =>
    weir.eventSubscription.create({ sources: [source], destination_ids: [destinations[name]] })
  await subscribe('all', { type: 'tcp_connection_closed.v0' })
  await subscribe('filtered', { type: 'tcp_connection_closed.v0', filter: blockedOnly })
  await subscribe('logs', { type: 'log.v0' })
  return { destinations, edgeId: edge.id }
}

const blockedOnly = 'inCidrRange(conn.client_ip, "192.0.2.0/24")'

export const stream = (emulator: Emulator, name: string): Promise<string> =>
  emulator.client.addResource({ service: 'kinesis', name, recordsPerSecond: null, bytesPerSecond: null })

export const target = (arn: string, { key }: Emulator, packing: 'none' | 'ndjson' = 'none') => ({
  target: {
    kinesis: {
      stream_arn: arn,
      packing,
      auth: {
        creds: { aws_access_key_id: key.accessKeyId, aws_secret_access_key: key.secretAccessKey },
      },
    },
  },
})

/** Record n of a run: every fourth comes from a blocked network; every other allowed one has an even port. */
export const record = (run: string, n: number): string =>
  JSON.stringify({
    record_id: `${run}-${n}`,
    type: 'tcp_connection',
    conn: {
      client_ip: n % 4 === 3 ? `192.0.2.${n % 250}` : `10.1.${n % 200}.${n % 250}`,
      client_port: 1_024 + (n % 8_000),
      server_name: 'ssh.example.com',
      server_port: 22,
      bytes_in: n,
      bytes_out: 7,
    },
  })

/** A message of so many records with 480 kB, to fill a disk with. */
export const wideRecords = 8
export function wideMessage(): string {
  const wide = record('run', 0).replace('{', `{"note":"${'x'.repeat(60_000)}",`)
  return Array.from({ length: wideRecords }, () => wide).join('\n')
}

/** How many of the records 0 … count - 1 each destination gets. */
export function expectedEvents(count: number): Record<DestinationName, number> {
  const numbers = Array.from({ length: count }, (_, n) => n)
  const blocked = numbers.filter((n) => n % 4 === 3).length
  const logged = numbers.filter((n) => n % 4 !== 3 && n % 2 === 0).length
  return { all: count, filtered: blocked, logs: logged }
}

/** Publishes records, several per message; resolves when all are stored. */
export async function publish(
  nats: Nats,
  run: string,
  from: number,
  to: number,
  perMessage = 50,
): Promise<void> {
  for (let n = from; n < to; n += perMessage) {
    const lines = Array.from({ length: Math.min(perMessage, to - n) }, (_, at) => record(run, n + at))
    await nats.publish('weir.records.eu.node-1', lines.join('\n'), { msgId: `${run}.${n}` })
  }
}

/** Waits until every event has arrived and the books show no backlog, at all destinations or at these. */
export async function untilArrived(
  deployment: Deployment,
  expected: Readonly<Record<DestinationName, number>>,
  timeoutMs = 90_000,
  names: readonly DestinationName[] = destinationNames,
): Promise<void> {
  for (const name of names) {
    const resource = { service: 'kinesis', name } as const
    await until(
      `${expected[name]} events at ${name}`,
      async () => (await deployment.emulator.client.counts(resource)).unique >= expected[name],
      timeoutMs,
    ).catch(async (error: Error) => {
      throw new Error(
        `${error.message} ${JSON.stringify(await deployment.emulator.client.counts(resource))} ${deployment.weir.process.output().slice(-3_000)}`,
      )
    })
  }
  await untilIdle(deployment, names, timeoutMs)
}

async function untilIdle(
  deployment: Deployment,
  names: readonly DestinationName[],
  timeoutMs: number,
): Promise<void> {
  for (const name of names) {
    let last: unknown
    await until(
      `nothing on its way to ${name}`,
      async () => {
        const status = await statusOf(deployment, name).catch(unlessRefused)
        last = status
        return (
          !(status instanceof ApiError) && status.backlog.events === 0 && status.backlog.oldest_at === null
        )
      },
      timeoutMs,
    ).catch((error: Error) => {
      throw new Error(`${error.message} ${JSON.stringify(last)}`)
    })
  }
}

export const statusOf = ({ weir, destinations }: Deployment, name: DestinationName) =>
  weir.api.deliveryStatus(destinations[name])

const unlessRefused = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error
  throw error
}

/** The numbers of the records that arrived at the destination for all. */
export async function arrivedRecords({ emulator }: Deployment): Promise<Set<number>> {
  const numbers = new Set<number>()
  for await (const { data } of emulator.client.received({ service: 'kinesis', name: 'all' }))
    numbers.add(JSON.parse(data).object.conn.bytes_in)
  return numbers
}

/** No destination got an event twice. */
export async function checkOnce(
  t: { equal(actual: unknown, expected: unknown, name: string): unknown },
  { emulator }: Deployment,
): Promise<void> {
  for (const name of destinationNames) {
    const { duplicates } = await emulator.client.counts({ service: 'kinesis', name })
    t.equal(duplicates, 0, `nothing arrived twice at ${name}`)
  }
}

/** Repeated events have the same bytes. */
export async function checkRepeats(
  t: { strictSame(actual: unknown, expected: unknown, name: string): unknown },
  deployment: Deployment,
): Promise<void> {
  for (const name of destinationNames)
    t.strictSame(await idsWithDifferentBytes(deployment, name), [], `repeats at ${name} are the same events`)
}

/** Ids that arrived with different bytes. */
async function idsWithDifferentBytes({ emulator }: Deployment, name: DestinationName): Promise<string[]> {
  const known = new Map<string, string>()
  const different: string[] = []
  for await (const { data } of emulator.client.received({ service: 'kinesis', name })) {
    for (const event of data.trimEnd().split('\n')) {
      const id: string = JSON.parse(event).event_id
      if (known.has(id) && known.get(id) !== event) different.push(id)
      known.set(id, event)
    }
  }
  return different
}

/** Checks the books of an idle deployment that got `count` good records and `bad` bad ones. */
export async function checkBooks(
  t: { match(actual: unknown, expected: object, name: string): unknown },
  deployment: Deployment,
  count: number,
  bad = 0,
): Promise<void> {
  const expected = expectedEvents(count)
  // A killed process's messages are redelivered after the acknowledgement wait, even if their events have arrived.
  const inBooks = async (): Promise<boolean> => {
    return total(await metricsOf(deployment.weir.url), 'weir_records_in_total') >= count + bad
  }
  await until('every record is in the books', inBooks)
  const metrics = await metricsOf(deployment.weir.url)
  const sums = {
    in: total(metrics, 'weir_records_in_total'),
    bad: total(metrics, 'weir_records_bad_total'),
    evaluated: total(metrics, 'weir_records_evaluated_total'),
    decided: total(metrics, 'weir_decisions_total'),
    produced: total(metrics, 'weir_events_produced_total'),
    filtered: total(metrics, 'weir_events_filtered_total'),
    delivered: total(metrics, 'weir_events_delivered_total'),
    backlog: total(metrics, 'weir_events_backlog'),
  }
  const produced = expected.all + expected.filtered + expected.logs
  t.match(
    sums,
    {
      in: count + bad,
      bad,
      evaluated: count,
      decided: count,
      produced,
      filtered: count - expected.filtered,
      delivered: produced,
      backlog: 0,
    },
    'the books of the deployment',
  )
  for (const name of destinationNames) {
    const { counts } = await statusOf(deployment, name)
    const filtered = name === 'filtered' ? count - expected.filtered : 0
    const of = { produced: expected[name], filtered, delivered: expected[name], dead_lettered: 0 }
    t.match(counts, of, `the books of ${name}`)
  }
}
