/** Publishes records like an ingress node: a hundred per message, several messages under way. */
import { payloadHeadroomBytes } from '../../ground/core/limits.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { Line } from './records-file.js'

export const subject = 'weir.records.demo.node-1'
const recordsPerMessage = 100
const messagesUnderWay = 64
/** Room for the message's id. */
const headerBytes = 1024
/** The payload limit of the service's own nats-server, less the room that Weir needs. */
export const messageBytesMax = 1024 * 1024 - payloadHeadroomBytes - headerBytes

/** Resolves with the number of lines when all are stored. Each message has an id, so none is stored twice. */
export async function publish(
  nats: Nats,
  lines: AsyncIterable<Line>,
  textOf: (line: string) => string,
  progress: (records: number) => void,
): Promise<number> {
  const underWay = new Set<Promise<void>>()
  let failure: unknown
  let stored = 0
  let messages = 0
  const send = async (texts: readonly string[]): Promise<void> => {
    messages += 1
    const sent = nats
      .publish(subject, texts.join('\n'), { msgId: `demo-${messages}` })
      .then(() => {
        stored += texts.length
        progress(stored)
      })
      .catch((error: unknown) => {
        failure = error
      })
      .finally(() => underWay.delete(sent))
    underWay.add(sent)
    if (underWay.size >= messagesUnderWay) await Promise.race(underWay)
    if (failure !== undefined) throw failure
  }
  let texts: string[] = []
  let bytes = 0
  for await (const { text } of lines) {
    const record = textOf(text)
    const size = Buffer.byteLength(record) + 1
    if (texts.length === recordsPerMessage || (texts.length > 0 && bytes + size > messageBytesMax)) {
      await send(texts)
      texts = []
      bytes = 0
    }
    texts.push(record)
    bytes += size
  }
  if (texts.length > 0) await send(texts)
  await Promise.all(underWay)
  if (failure !== undefined) throw failure
  return stored
}
