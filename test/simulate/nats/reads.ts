/** Messages of a stream as clients read them without a consumer: as JSON, or as they are (`DIRECT.GET`). */
import { noMessageFound, Refusal } from './errors.js'
import { writeHeaders } from './headers.js'
import { type StoredMessage, type Stream, timeOf } from './stream.js'
import { matcher } from './subjects.js'

/** Which message: by its sequence, the last of a subject, or the next of one. */
interface Wanted {
  readonly seq?: number
  readonly last_by_subj?: string
  readonly next_by_subj?: string
}

function wanted(stream: Stream, { seq, last_by_subj, next_by_subj }: Wanted): StoredMessage {
  let found: StoredMessage | undefined
  if (last_by_subj !== undefined) found = stream.lastOf(last_by_subj)
  else if (next_by_subj !== undefined) found = stream.next(seq ?? 1, matcher(next_by_subj))
  else found = stream.messages.get(seq ?? 0)
  if (found === undefined) throw noMessageFound()
  return found
}

/** The answer of `STREAM.MSG.GET`; throws a `Refusal`. */
export function readMessage(stream: Stream, body: Wanted): object {
  const { subject, sequence, headers, data, atMs } = wanted(stream, body)
  const hdrs = headers === undefined ? {} : { hdrs: headers.toString('base64') }
  const bytes = data.length === 0 ? {} : { data: data.toString('base64') }
  return { message: { subject, seq: sequence, ...hdrs, ...bytes, time: timeOf(atMs) } }
}

/** The answer of `DIRECT.GET`: the message with its own headers, and what the stream says of it. */
export function readDirectly(
  stream: Stream,
  body: Wanted,
): { readonly headers: Buffer; readonly data: Buffer } {
  try {
    const { headers, sequence, atMs, subject, data } = wanted(stream, body)
    const about = writeHeaders('', {
      'Nats-Stream': stream.config.name,
      'Nats-Subject': subject,
      'Nats-Sequence': sequence,
      'Nats-Time-Stamp': timeOf(atMs),
    })
    const withoutEnd = headers?.subarray(0, -2)
    const all =
      withoutEnd === undefined ? about : Buffer.concat([withoutEnd, about.subarray('NATS/1.0\r\n'.length)])
    return { headers: all, data }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { headers: writeHeaders('404 Message Not Found'), data: Buffer.alloc(0) }
  }
}
