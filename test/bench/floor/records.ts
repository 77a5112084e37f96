/** The input of the programs that do only the least: the stream that records are published to, and its messages. */
import {
  AckPolicy,
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'

/**
 * Messages of 100 records have 60 kB. nats-server ends a connection for which it holds 64 MiB (`max_pending`), and
 * redelivers what it lost after 30 s.
 */
const messagesAhead = 800

interface Input {
  readonly manager: JetStreamManager
  readonly client: JetStreamClient
  /** Acknowledged one by one. */
  readonly records: AsyncIterable<JsMsg>
}

export async function openRecords(natsUrl: string): Promise<Input> {
  const nats = await connect({ servers: natsUrl })
  const [manager, client] = [await jetstreamManager(nats), jetstream(nats)]
  const retention = RetentionPolicy.Limits
  const records = await openStream(
    { manager, client },
    { name: 'RECORDS', subject: 'weir.records.>', retention },
  )
  return { manager, client, records }
}

/** Makes a stream, and reads it. */
export async function openStream(
  { manager, client }: Pick<Input, 'manager' | 'client'>,
  {
    name,
    subject,
    retention,
  }: { readonly name: string; readonly subject: string; readonly retention: RetentionPolicy },
): Promise<AsyncIterable<JsMsg>> {
  await manager.streams.add({
    name,
    subjects: [subject],
    retention,
    max_bytes: 2 ** 32,
    discard: DiscardPolicy.New,
  })
  await manager.consumers.add(name, {
    durable_name: 'floor',
    ack_policy: AckPolicy.Explicit,
    max_ack_pending: 50_000,
  })
  const consumer = await client.consumers.get(name, 'floor')
  return consumer.consume({ max_messages: messagesAhead })
}
