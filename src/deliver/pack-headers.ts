/** What the headers of a pack's message say. */
import type { PulledMessage } from '../core/nats-messages.js'
import type { InputStream, PackContents } from './ledger.js'

export const packHeaders = {
  events: 'Weir-Events',
  stream: 'Weir-Stream',
  since: 'Weir-Stream-Since',
  segments: 'Weir-Segments',
} as const

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
