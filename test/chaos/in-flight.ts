/** How many events were in flight when a process was killed: so many may be repeated, and no more. */
import { inputConsumer, packHeaders } from '../../src/delivery/wire/names.js'
import { deliverySubject, homeOf } from '../../src/delivery/wire/partitions.js'
import { replay } from '../../src/ground/nats/stream-replay.js'
import { recordsPerMessage } from './publisher.js'
import type { Site, SiteDestination } from './site.js'

const atOnce = 16

/** Records of messages that pipelines have, and have not acknowledged: each may become an event again. */
async function recordsInFlight({ nats, partitions }: Site): Promise<number> {
  const positions = await Promise.all(
    partitions.map(({ recordsStream }) => nats.consumerInfo(recordsStream, inputConsumer)),
  )
  const messages = positions.map((each) => (each === undefined ? 0 : each.unacknowledged - each.waiting))
  return messages.reduce((sum, count) => sum + count, 0) * recordsPerMessage
}

/** Events of packs that deliverers have, and have not acknowledged. */
async function eventsInFlight({ nats, options }: Site, { id }: SiteDestination): Promise<number> {
  const home = homeOf(id, options.partitions)
  const position = await nats.consumerInfo(home.deliveriesStream, id)
  if (position === undefined || position.unacknowledged === position.waiting) return 0
  const subject = deliverySubject(home, id)
  let events = 0
  for await (const pack of replay(nats.stored(home.deliveriesStream, subject), 0, atOnce)) {
    // Those that were acknowledged are not stored any more.
    if (pack.subject === subject && pack.sequence <= position.delivered)
      events += Number(pack.headers.get(packHeaders.events))
  }
  return events
}

/** The bound of repeats: what was in flight at each kill, added up. */
export class InFlight {
  readonly #events = new Map<string, number>()

  /** To be called right after the kill, before the process is started again. */
  async note(site: Site, role: 'pipeline' | 'deliver'): Promise<void> {
    const records = role === 'pipeline' ? await recordsInFlight(site) : 0
    await Promise.all(
      site.destinations.map(async (each) => {
        const events = role === 'pipeline' ? records : await eventsInFlight(site, each)
        this.#events.set(each.id, (this.#events.get(each.id) ?? 0) + events)
      }),
    )
  }

  readonly boundOf = ({ id }: SiteDestination): number => this.#events.get(id) ?? 0
}
