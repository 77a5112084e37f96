/** What the message of a pack says of its contents. */
import type { InputStream, PackContents } from '../books/ledger.js'
import type { PulledMessage } from '../nats/messages.js'
import { packOrigin } from '../wire/pack-message.js'

/** JetStream's own: the id of a published message. */
const messageIdHeader = 'Nats-Msg-Id'

export function packContents(destination: string, { headers, sequence }: PulledMessage): PackContents {
  const { stream, ...origin } = packOrigin(headers)
  const pack = headers?.get(messageIdHeader) || `${destination} ${sequence}`
  return { destination, pack, stream: stream as InputStream, ...origin }
}
