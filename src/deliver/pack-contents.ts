/** What the message of a pack says of its contents. */
import type { InputStream, PackContents } from '../books/ledger.js'
import { messageIdHeader, type PulledMessage } from '../nats/messages.js'
import { packOrigin } from '../wire/pack-message.js'

export function packContents(destination: string, { headers, sequence }: PulledMessage): PackContents {
  const { stream, ...origin } = packOrigin(headers)
  const pack = headers?.get(messageIdHeader) || `${destination} ${sequence}`
  return { destination, pack, stream: stream as InputStream, ...origin }
}
