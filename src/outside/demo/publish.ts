/** Publishes records like an ingress node. */
import { RecordPublisher } from '../../delivery/ingest/record-publisher.js'
import { payloadHeadroomBytes } from '../../ground/core/limits.js'
import type { Nats } from '../../ground/nats/nats.js'

export const subject = 'weir.records.demo.node-1'

/** Resolves with the number of lines when all are stored. */
export async function publish(
  nats: Nats,
  lines: AsyncIterable<string>,
  textOf: (line: string) => string,
  progress: (records: number) => void,
): Promise<number> {
  let stored = 0
  let messages = 0
  const publisher = new RecordPublisher({
    publish(message) {
      messages += 1
      // A file may repeat a hundred lines, so that their hash is no id.
      return nats.publish(subject, message, { msgId: `demo-${messages}` })
    },
    messageBytesMax: nats.payloadBytesMax - payloadHeadroomBytes,
  })
  for await (const line of lines) {
    const room = publisher.add(textOf(line), () => {
      stored += 1
      progress(stored)
    })
    if (room !== undefined) await room
  }
  await publisher.flush()
  return stored
}
