/** What `docs/guarantees.md` promises, a function each: what of it was not kept in a world, as sentences. */
import { deadLetterStream } from '../../src/delivery/wire/names.js'
import { lettersIn } from '../../src/delivery/wire/shared-dead-letters.js'
import { nameOf } from './actors/author.js'
import { lostKey } from './actors/loss.js'
import type { ApiWork } from './deployment.js'
import type { Service } from './destinations/service.js'
import { readHeaders } from './nats/headers.js'
import { isLoss } from './plan.js'
import type { Stage } from './stage.js'
import type { Issued, Stored } from './witness.js'

type Promise_ = (stage: Stage) => readonly string[]

interface TrafficEvent {
  readonly event_id: string
  readonly event_type: string
  readonly object: {
    readonly conn?: { readonly bytes_in: number }
    readonly ip_policy?: { readonly decision: string }
  }
}

const eventOf = ({ data }: Stored): TrafficEvent => JSON.parse(data) as TrafficEvent
const isTraffic = ({ data }: Stored): boolean => data.includes('"event_type":"tcp_connection_closed.v0"')

/** Of each service: how often it stored the event of each record. */
function deliveredBy(stage: Stage, service: string): Map<number, number> {
  const counts = new Map<number, number>()
  for (const each of stage.witness.stored) {
    if (each.service !== service || !isTraffic(each)) continue
    const number = eventOf(each).object.conn!.bytes_in
    counts.set(number, (counts.get(number) ?? 0) + 1)
  }
  return counts
}

const isGood = ({ sort }: Issued): boolean => sort === 'allowed' || sort === 'denied'

/** Is there nothing more to wait for? */
export const isDelivered = (stage: Stage): boolean => missingEvents(stage).length === 0

// --- records and events ---

/** At least once, per destination, independent of every other destination. */
const missingEvents: Promise_ = (stage) =>
  stage.services.flatMap(({ name }) => {
    const { witness } = stage
    const delivered = deliveredBy(stage, name)
    return [...witness.issued.values()]
      .filter((record) => isGood(record) && record.confirmedMs !== undefined && !delivered.has(record.number))
      .filter(({ number }) => !witness.lost.has(lostKey(name, String(number))))
      .map(({ number }) => `Record ${number} was confirmed, and ${name} has no event of it.`)
  })

/** Nothing is there that nobody published, and each event has the same bytes wherever and how often it is stored. */
const inventedEvents: Promise_ = ({ witness }) => {
  const bytes = new Map<string, string>()
  const broken: string[] = []
  for (const each of witness.stored) {
    const known = bytes.get(each.id)
    if (known !== undefined && known !== each.data)
      broken.push(`${each.service} has other bytes of ${each.id}.`)
    bytes.set(each.id, each.data)
    if (isTraffic(each) && !witness.issued.has(eventOf(each).object.conn!.bytes_in))
      broken.push(`${each.service} has an event of a record that nobody published.`)
  }
  return broken
}

/** A record has one event id, however often it was processed. */
const eventIds: Promise_ = ({ witness }) => {
  const ids = new Map<number, string>()
  return witness.stored.filter(isTraffic).flatMap((each) => {
    const number = eventOf(each).object.conn!.bytes_in
    const known = ids.get(number)
    ids.set(number, each.id)
    return known === undefined || known === each.id ? [] : [`Record ${number} has events with two ids.`]
  })
}

/** Repeats happen after crashes and lost answers; only what failed is sent again. */
const needlessRepeats: Promise_ = (stage) => {
  const isDisturbed = stage.plan.actions.some(
    (action) =>
      ['kill', 'kill all', 'break', 'kill server', 'freeze server'].includes(action.does) ||
      isLoss(action) ||
      (action.does === 'service' && action.fate === 'unanswered'),
  )
  if (isDisturbed) return []
  return stage.services.flatMap(({ name, stored }) =>
    [...stored]
      .filter(([, count]) => count > 1)
      .map(([id, count]) => `${name} got ${id} ${count} times, for no reason.`),
  )
}

/** What an edge denies is denied: a partly read configuration is never used. */
const decisions: Promise_ = ({ witness }) =>
  witness.stored.filter(isTraffic).flatMap((each) => {
    const { object } = eventOf(each)
    const record = witness.issued.get(object.conn!.bytes_in)
    const expected = record?.sort === 'denied' ? 'block' : 'allow'
    const found = object.ip_policy?.decision ?? 'none'
    return found === expected ? [] : [`Record ${record?.number} was decided "${found}", not "${expected}".`]
  })

/** A bad record goes to the dead letters alone, with its original bytes; so does an event that is refused. */
const deadLetters: Promise_ = (stage) => {
  const texts = lettersOf(stage)
  const broken: string[] = []
  for (const record of stage.witness.issued.values()) {
    if (record.confirmedMs === undefined) continue
    const asBad = texts.filter((text) => text === record.text).length
    const asPoison = texts.filter(
      (text) => text.includes(`"bytes_in":${record.number},`) && text.includes('"event_id"'),
    ).length
    const expected = stage.services.filter((service) => !isLostFor(stage, service, record.number)).length
    if (record.sort === 'bad' && asBad === 0 && expected > 0)
      broken.push(`The bad record ${record.number} is no dead letter.`)
    if (record.sort !== 'bad' && asBad > 0) broken.push(`Record ${record.number} is good, and a dead letter.`)
    if (record.sort === 'poison' && asPoison < expected)
      broken.push(
        `The refused event of record ${record.number} is a dead letter of ${asPoison} destinations.`,
      )
    if (isGood(record) && asPoison > 0) broken.push(`The event of record ${record.number} is a dead letter.`)
  }
  return broken
}

function lettersOf({ server }: Stage): string[] {
  const stream = server.jetstream.streams.get(deadLetterStream)
  const texts: string[] = []
  for (const { data, headers } of stream?.messages.values() ?? []) {
    const values = readHeaders(headers)
    const letters = lettersIn(data, (name) => values.get(name) ?? '')
    for (let at = 0; at < letters.size; at++)
      texts.push(Buffer.from(letters.at(at).data).toString('utf8').trim())
  }
  return texts
}

// --- writes of the API ---

const edgesIn = (stage: Stage) => {
  const rows = stage.tables.get('tcp_edge_versions').newest()
  return rows.filter(({ deleted, account_id }) => !deleted && account_id === stage.accountId)
}

/** A 2xx is durable, and concurrent writes never overwrite one another silently. */
const writes: Promise_ = (stage) => {
  const rows = stage.tables.get('tcp_edge_versions').newest()
  return stage.witness.written.flatMap(({ write, id, outcome }) => {
    if (outcome !== 'done') return outcome === 'under way' ? [`Write ${write.number} has no answer.`] : []
    const row = rows.find((each) => each['id'] === id)
    if (row === undefined) return [`Write ${write.number} was answered, and ${id} is not stored.`]
    if (write.verb === 'delete') return row['deleted'] ? [] : [`${id} was deleted, and is there.`]
    const marks = String(row['description'])
      .split('+')
      .filter((mark) => mark === String(write.number)).length
    return marks === 1 ? [] : [`Write ${write.number} was answered, and is in ${id} ${marks} times.`]
  })
}

/** Uniqueness holds across API processes. */
const unique: Promise_ = (stage) => {
  const names = edgesIn(stage).flatMap(({ hostports }) => hostports as string[])
  return [0, 1, 2].flatMap((edge) => {
    const { length } = names.filter((name) => name === nameOf(edge))
    return length > 1 ? [`${length} edges have ${nameOf(edge)}.`] : []
  })
}

/** Every process sees what ClickHouse has: nothing is lost from the configuration, nothing half there. */
const views: Promise_ = (stage) => {
  const expected = edgesIn(stage)
    .map(({ id, version }) => `${id} ${version}`)
    .sort()
  return apis(stage).flatMap(([name, { parts }]) => {
    const { rows } = parts.store.view.state
    const seen = [...(rows.get('tcp_edge')?.values() ?? [])]
      .map(({ id, version }) => `${id} ${version}`)
      .sort()
    return JSON.stringify(seen) === JSON.stringify(expected)
      ? []
      : [`${name} sees ${seen}, and ClickHouse has ${expected}.`]
  })
}

/** Audit events are sent even if the process dies right after the write, exactly one event id per change. */
const audits: Promise_ = (stage) => {
  const versions = new Set(
    stage.tables.rowsOf('tcp_edge_versions').map(({ id, version }) => `${id} ${version}`),
  )
  return stage.services.flatMap((service) => {
    const ids = new Set(
      stage.witness.stored
        .filter((each) => each.service === service.name && each.data.includes('"event_type":"tcp_edge_'))
        .map(({ id }) => id),
    )
    const lost = lostOf(stage, service).filter((what) => what.startsWith('ev_') && !ids.has(what)).length
    const isKept = ids.size <= versions.size && ids.size + lost + stage.witness.headsLost >= versions.size
    return isKept ? [] : [`${service.name} has ${ids.size} audit events of ${versions.size} changes.`]
  })
}

const lostOf = ({ witness }: Stage, { name }: Service): string[] =>
  [...witness.lost].filter((key) => key.startsWith(`${name} `)).map((key) => key.slice(name.length + 1))

// --- the books ---

const apis = (stage: Stage): [string, ApiWork][] =>
  [...stage.deployment.lives].flatMap(([name, { work, process }]) =>
    work && process.isAlive ? [[name, work]] : [],
  )

/** They balance exactly, with repeats counted once, and every process shows the same. */
const books: Promise_ = (stage) =>
  apis(stage).flatMap(([name, work]) => {
    const { books: kept } = work.books
    const issued = [...stage.witness.issued.values()]
    return [
      ...recordCounts(stage, name, kept.records),
      ...stage.services.flatMap((service, at) => {
        const counts = kept.destination(stage.destinationIds[at]!)
        const { produced, delivered, dead_lettered, dropped, backlog } = counts
        const dead = issued.filter(
          ({ sort, number }) => sort === 'poison' && !isLostFor(stage, service, number),
        ).length
        const broken: string[] = []
        if (
          produced !== delivered + dead_lettered + dropped + backlog ||
          backlog > 0 ||
          !isDropExpected(stage, service, dropped)
        )
          broken.push(`${name} counts for ${service.name}: ${JSON.stringify(counts)}.`)
        const unentered = service.stored.size - delivered
        if (unentered < 0 || (unentered > 0 && !mayBeUnentered(stage, dropped)))
          broken.push(`${name} counts ${delivered} delivered, ${service.name} has ${service.stored.size}.`)
        if (dead_lettered < dead)
          broken.push(`${name} counts ${dead_lettered} dead letters of ${service.name}, not ${dead}.`)
        return broken
      }),
    ]
  })

const isLostFor = ({ witness }: Stage, { name }: Service, number: number): boolean =>
  witness.lost.has(lostKey(name, String(number)))

function recordCounts(
  stage: Stage,
  name: string,
  { records, bad }: { records: number; bad: number },
): string[] {
  const issued = [...stage.witness.issued.values()]
  const isLost = ({ number }: Issued): boolean =>
    stage.services.every((service) => isLostFor(stage, service, number))
  const least = issued.filter((record) => !isLost(record))
  const badOf = (among: readonly Issued[]): number => among.filter(({ sort }) => sort === 'bad').length
  const broken: string[] = []
  if (records < least.length || records > issued.length)
    broken.push(`${name} counts ${records} records of ${issued.length}.`)
  if (bad < badOf(least) || bad > badOf(issued))
    broken.push(`${name} counts ${bad} bad records of ${badOf(issued)}.`)
  return broken
}

/** What NATS lost of what waited is counted, each once, and announced; nothing else is. */
function isDropExpected(stage: Stage, service: Service, dropped: number): boolean {
  const delivered = deliveredBy(stage, service.name)
  const isDelivered = (what: string): boolean => service.stored.has(what) || delivered.has(Number(what))
  const lost = lostOf(stage, service).filter((what) => mayBeUnentered(stage, dropped) || !isDelivered(what))
  const isAnnounced = stage.witness.stored.some(
    (each) => each.service === service.name && each.data.includes('"event_type":"events_dropped.v0"'),
  )
  return dropped <= lost.length && (dropped === 0 || isAnnounced)
}

/** Events that a deliverer had sent when it was killed count as dropped if their pack vanished, too. */
const mayBeUnentered = ({ plan }: Stage, dropped: number): boolean =>
  dropped > 0 &&
  plan.actions.some(
    ({ does, ...more }) =>
      does === 'kill all' || (does === 'kill' && 'process' in more && more.process.startsWith('deliver')),
  )

/** Everything works again without hands. */
const ready: Promise_ = (stage) => [
  ...stage.witness.deaths,
  ...[...stage.deployment.lives].flatMap(([name, { isReady, failure }]) =>
    isReady ? [] : [`${name} is not ready: ${failure ?? 'it starts'}.`],
  ),
]

const promises: readonly Promise_[] = [
  missingEvents,
  inventedEvents,
  eventIds,
  needlessRepeats,
  decisions,
  deadLetters,
  writes,
  unique,
  views,
  audits,
  books,
  ready,
]

export const brokenPromises = (stage: Stage): string[] => promises.flatMap((promise) => promise(stage))
