/** What NATS lost, as the witness must know it: events that nobody can deliver any more. */
import { auditStream } from '../../../src/delivery/wire/names.js'
import { readPack } from '../../../src/delivery/wire/pack.js'
import type { StoredMessage } from '../nats/stream.js'
import type { Stage } from '../stage.js'

const inputConsumer = 'pipeline'

/** Of a stream that others make again from what they know, nothing is lost for good. */
export function noteLost(stage: Stage, stream: string, messages: readonly StoredMessage[]): void {
  if (stream === 'KV_weir_heads') stage.witness.headsLost += 1
  if (stream === 'WEIR_DELIVERIES') for (const message of messages) notePack(stage, message)
  if (stream !== 'WEIR_RECORDS' && stream !== auditStream) return
  const consumer = stage.server.jetstream.consumersOf(stream).get(inputConsumer)
  const done = consumer?.info(0).ack_floor.stream_seq ?? 0
  for (const message of messages) {
    if (message.sequence <= done) continue
    if (stream === auditStream) noteForAll(stage, eventsIn(message.data))
    else noteForAll(stage, numbersIn(message.data))
  }
}

export const lostKey = (service: string, what: string): string => `${service} ${what}`

function noteForAll({ services, witness }: Stage, what: readonly string[]): void {
  for (const { name } of services) for (const each of what) witness.lost.add(lostKey(name, each))
}

function notePack({ destinationIds, services, witness }: Stage, { subject, data }: StoredMessage): void {
  const service = services[destinationIds.findIndex((id) => subject.includes(id))]
  if (service === undefined) return
  for (const each of eventsIn(data)) witness.lost.add(lostKey(service.name, each))
}

/** Each event of a pack by its record's number, or its id. */
const eventsIn = (pack: Uint8Array): string[] =>
  readPack(pack).events.map(({ id, data }) => /"bytes_in":(\d+)/.exec(data.toString('utf8'))?.[1] ?? id)

const numbersIn = (message: Buffer): string[] =>
  [...message.toString('utf8').matchAll(/"record_id":"r(\d+)"/g)].map(([, number]) => number!)
