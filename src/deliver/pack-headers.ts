/** What the headers of a pack's message say. */

import type { InputStream, PackContents } from '../books/ledger.js'
import type { PulledMessage } from '../nats/messages.js'
import { packHeaders } from '../wire/names.js'

/** JetStream's own: what a message was published under. */
const messageIdHeader = 'Nats-Msg-Id'

export function packContents(destination: string, { headers, sequence }: PulledMessage): PackContents {
  return {
    destination,
    pack: headers?.get(messageIdHeader) || `${destination} ${sequence}`,
    stream: (headers?.get(packHeaders.stream) || 'records') as InputStream,
    since: headers?.get(packHeaders.since) ?? '',
    segments: headers?.get(packHeaders.segments) ?? '',
  }
}
