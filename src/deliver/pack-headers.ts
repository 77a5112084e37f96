/** Reads the headers of a pack's message. */

import type { InputStream, PackContents } from '../books/ledger.js'
import type { PulledMessage } from '../nats/messages.js'
import { packHeaders } from '../wire/names.js'

/** JetStream's own: the id of a published message. */
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
