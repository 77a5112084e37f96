/**
 * The one spelling of what a sender may write in several ways. A record gets it when it is read, so that events show
 * and expressions compare the same text, whatever the sender wrote.
 */
import { utcMicros } from '../core/timestamp.js'

/** The members of a connection that may be spelled in several ways. */
interface Spelled {
  start_ts?: string | null | undefined
  end_ts?: string | null | undefined
}

/** Changes a checked record in place: it was made from JSON for us alone. */
export function spellAlike<R extends { readonly conn: Readonly<Spelled> }>(record: R): R {
  const conn: Spelled = record.conn
  const { start_ts, end_ts } = conn
  if (start_ts) conn.start_ts = utcMicros(start_ts)
  if (end_ts) conn.end_ts = utcMicros(end_ts)
  return record
}
