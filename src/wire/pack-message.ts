/** A pack as a message: its id, and the headers that say which input its events come from. */
import { hashBytes128 } from '../core/ids.js'
import { packHeaders } from './names.js'

/** Headers of a message. */
interface Headers {
  get(name: string): string
}

interface PackOrigin {
  /** The input's name in the books. */
  readonly stream: string
  /** The run of its stream's sequences. */
  readonly since: string
  /** Formatted. */
  readonly segments: string
}

export function packMessage(
  destination: string,
  bytes: Uint8Array,
  events: number,
  { stream, since, segments }: PackOrigin,
) {
  return {
    // Records that were published twice can give equal bytes for different messages: those need different packs.
    msgId: `${destination}.${hashBytes128(bytes, `${stream} ${since} ${segments}`)}`,
    headers: {
      [packHeaders.events]: String(events),
      [packHeaders.stream]: stream,
      [packHeaders.since]: since,
      [packHeaders.segments]: segments,
    },
  }
}

/** The part of a pack's id that is equal for all destinations which get the same events of the same input. */
export const contentsIdIn = (msgId: string, destination: string): string =>
  msgId.slice(destination.length + 1)

/** The destination of a pack, from its message id. */
export const destinationIn = (msgId: string): string => msgId.slice(0, msgId.lastIndexOf('.'))

/** The origin of a pack, from its headers. */
export const packOrigin = (headers: Headers | undefined): PackOrigin => ({
  stream: headers?.get(packHeaders.stream) || 'records',
  since: headers?.get(packHeaders.since) ?? '',
  segments: headers?.get(packHeaders.segments) ?? '',
})
