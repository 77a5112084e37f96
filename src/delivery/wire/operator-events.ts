/**
 * Announces operator events: messages of the stream of audit events, in the same form, so that pipelines hand them on in
 * the same way. Each topic, such as a destination, has a subject of its own. Its last message shows what was announced
 * already, also by another process and before a restart.
 */
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'
import { auditHeaders, auditStream, operatorPositionHeader, operatorSubject } from './names.js'
import { PackWriter, readPack } from './pack.js'

const patienceMs = 5_000

interface Announcement {
  readonly accountId: string
  /** A token of a subject: an id, or a word. Also the event's partition key. */
  readonly topic: string
  /** Grows from one event of the topic to the next. */
  readonly position: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The envelope. */
  readonly json: string
}

/** The last announcement of a topic. */
interface LastAnnouncement<Report> {
  readonly object: Report
  /** Milliseconds since the epoch. */
  readonly atMs: number
  readonly position: number
}

/** Reads the last message of a topic; undefined if there is none. */
export function lastAnnouncement<Report>(
  message: StoredMessage | undefined,
): LastAnnouncement<Report> | undefined {
  const [event] = message === undefined ? [] : readPack(message.data).events
  if (message === undefined || event === undefined) return undefined
  const { object } = JSON.parse(event.data.toString()) as { object: Report }
  return { object, atMs: event.timestampMs, position: Number(message.headers.get(operatorPositionHeader)) }
}

/** Stores the event, unless the topic has it or a later one. Resolves with whether it was stored. */
export async function announce(
  nats: Pick<Nats, 'lastMessage' | 'publishAfter'>,
  { accountId, topic, position, at, json }: Announcement,
): Promise<boolean> {
  const subject = operatorSubject(accountId, topic)
  const writer = new PackWriter()
  writer.append(topic, at, json)
  const pack = writer.take()
  const headers = { [auditHeaders.account]: accountId, [operatorPositionHeader]: String(position) }
  for (;;) {
    const last = await nats.lastMessage(auditStream, subject)
    if (last !== undefined && Number(last.headers.get(operatorPositionHeader)) >= position) return false
    const afterSequence = last?.sequence ?? 0
    // Undefined if another process was first, or if an earlier attempt was stored and its answer lost.
    const sequence = await nats.publishAfter(subject, pack, { headers, afterSequence, patienceMs })
    if (sequence !== undefined) return true
  }
}
