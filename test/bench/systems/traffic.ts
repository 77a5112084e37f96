/** Records as ingress nodes publish them: connections from 120 networks, of 600 bytes each. */
import { connect } from '@nats-io/transport-node'
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { connectionOptions } from '../../../src/ground/nats/connection.js'
import type { Nats } from '../../../src/ground/nats/nats.js'
import { ingest } from '../../harness/fast-ingest.js'

/** A message as it is published. */
export type Encode = (message: string) => {
  readonly data: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
}

const recordBytes = 600
const publishedAtOnceUsually = 64
const batchMs = 50
/** The server of every record, unless a row says another one. */
export const usualServer = 'ssh.example.com'
export const serverPort = 22

const subjectOf = (node: number): string => `weir.records.eu.node-${node}`

/** The records from one number to another, so many in a message. */
export function* messagesOf(
  from: number,
  to: number,
  records: number,
  serverName = usualServer,
): Generator<string> {
  for (let n = from; n < to; n += records)
    yield Array.from({ length: records }, (_, at) => record(n + at, serverName)).join('\n')
}

/** How messages are published. */
export interface Publishing {
  /** Ingress nodes that take turns. Default: one. */
  readonly nodes?: number
  /** Default: as many as there are. */
  readonly messagesPerSecond?: number
  /** Messages that are on their way at a time. Default: 64. */
  readonly atOnce?: number
  /** Default: as it is. */
  readonly encode?: Encode | undefined
  /** Connections of the nodes, which these share. Default: one for all. */
  readonly through?: readonly Nats[]
}

/** Waits until a message is due, by its number. */
function pacedBy(messagesPerSecond: number): (number: number) => Promise<void> | undefined {
  const begunMs = monotonicMs()
  return (number) => {
    const dueInMs = begunMs + (number * 1_000) / messagesPerSecond - monotonicMs()
    return dueInMs > 0 ? sleep(dueInMs) : undefined
  }
}

/** As ingress nodes do: without waiting for each answer. The publishers share the messages. */
export async function publishAll(
  nats: Nats,
  messages: Iterable<string>,
  {
    nodes = 1,
    atOnce = publishedAtOnceUsually,
    messagesPerSecond = Number.POSITIVE_INFINITY,
    encode = (data) => ({ data }),
    through = [nats],
  }: Publishing = {},
): Promise<void> {
  const due = pacedBy(messagesPerSecond)
  let begun = 0
  const publishing = async (): Promise<void> => {
    for (const message of messages) {
      const number = begun++
      await due(number)
      const { data, headers } = encode(message)
      const node = number % nodes
      const connection = through[node % through.length]!
      await connection.publish(subjectOf(1 + node), data, headers && { headers })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, publishing))
}

/** As an ingress node does that uses fast ingest: what came within some milliseconds is a batch. */
export async function ingestAll(
  natsUrl: string,
  messages: Iterable<string>,
  { messagesPerSecond }: Required<Pick<Publishing, 'messagesPerSecond'>>,
): Promise<void> {
  const nats = await connect(connectionOptions({ servers: [natsUrl], name: 'ingress', replicas: 1 }))
  const due = pacedBy(messagesPerSecond)
  const batchMax = (messagesPerSecond * batchMs) / 1_000
  let batch: { readonly subject: string; readonly data: string }[] = []
  let published = 0
  const send = async (): Promise<void> => {
    published += batch.length
    await due(published)
    await ingest(nats, batch)
    batch = []
  }
  for (const data of messages) {
    batch.push({ subject: subjectOf(1), data })
    if (batch.length === batchMax) await send()
  }
  await send()
  await nats.close()
}

export const publish = (nats: Nats, message: string): Promise<unknown> => nats.publish(subjectOf(1), message)

/** Its number is also its `bytes_in`, by which its event is known. */
export const record = (n: number, serverName = usualServer): string => {
  const [minute, second] = [Math.floor(n / 60) % 60, n % 60].map((part) => String(part).padStart(2, '0'))
  const json = JSON.stringify({
    record_id: `01KAJ5T2Q8XN4RB6TZ${String(n).padStart(8, '0')}`,
    type: 'tcp_connection',
    conn: {
      client_ip: `10.${n % 120}.${n % 200}.${n % 250}`,
      client_port: 1_024 + (n % 60_000),
      server_ip: '192.0.2.10',
      server_name: serverName,
      server_port: serverPort,
      start_ts: `2026-01-01T00:${minute}:${second}.000Z`,
      end_ts: `2026-01-01T01:${minute}:${second}.000Z`,
      bytes_in: n,
      bytes_out: 7 * n,
    },
    ingress: '',
  })
  return json.replace('"ingress":""', `"ingress":"${'x'.repeat(recordBytes - json.length)}"`)
}
