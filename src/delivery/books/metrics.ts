/** The books as Prometheus text: totals of the whole deployment, the same in every process that keeps books. */
import { recordTypes } from '../record/traffic-record.js'
import type { Books } from './books.js'
import { dropReasons } from './dropped.js'

/** The kind of target of a configured destination; undefined if there is no such destination. */
type TargetOf = (destinationId: string) => string | undefined

/** Labels of counters that begin at 0, because an increase is seen only from a value that was there before. */
interface Begun {
  /** Kinds of targets. */
  readonly targets: readonly string[]
  /** The sources that are subscribed, and the kinds of their targets. */
  readonly sources: Iterable<{ readonly kind: string; readonly target: string }>
}

/** The kind shown for events of a crashed attempt whose source was removed before the next attempt. */
const reconfigured = 'reconfigured'

/** The kind of target shown for a destination that was deleted before any deliverer knew it. */
const unknown = 'unknown'

/** Sums per set of labels. */
class Sums {
  readonly #byLabels = new Map<string, number>()

  add(labels: Readonly<Record<string, string>>, value: number): this {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`)
    const key = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
    this.#byLabels.set(key, (this.#byLabels.get(key) ?? 0) + value)
    return this
  }

  text(type: 'counter' | 'gauge', name: string, help: string): string {
    const lines = [...this.#byLabels].map(([labels, value]) => `${name}${labels} ${value}\n`)
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
  }
}

export function booksMetrics(books: Books, targetOf: TargetOf, begun: Begun): string {
  const { records } = books
  const target = (id: string): string => targetOf(id) ?? books.targetOf(id) ?? unknown
  const [evaluated, decisions] = [new Sums(), new Sums()]
  for (const type of recordTypes) evaluated.add({ type }, records[type])
  for (const decision of ['allow', 'block', 'deny'] as const) decisions.add({ decision }, records[decision])
  const [produced, filtered] = [new Sums(), new Sums()]
  const lost = { age: new Sums(), vanished: new Sums() }
  const bySource = [produced, filtered, ...Object.values(lost)]
  for (const { kind, target } of begun.sources) for (const sums of bySource) sums.add({ kind, target }, 0)
  for (const source of books.sources) {
    const labels = { kind: source.kind, target: target(source.destination) }
    produced.add(labels, source.produced)
    filtered.add(labels, source.filtered)
    for (const sums of Object.values(lost)) sums.add(labels, 0)
  }
  const ends = { delivered: new Sums(), dead_lettered: new Sums(), dropped: new Sums(), backlog: new Sums() }
  for (const sums of Object.values(ends)) for (const target of begun.targets) sums.add({ target }, 0)
  for (const [id, counts] of books.destinations()) {
    for (const reason of dropReasons)
      for (const [kind, count] of Object.entries(books.dropped(id, reason).kinds))
        lost[reason].add({ kind, target: target(id) }, count)
    const extra = books.extra(id)
    if (extra > 0) produced.add({ kind: reconfigured, target: target(id) }, extra)
    for (const [name, sums] of Object.entries(ends)) {
      sums.add({ target: target(id) }, counts[name as keyof typeof ends])
    }
  }
  const counter = (name: string, help: string, sums: Sums): string => sums.text('counter', name, help)
  const one = (value: number): Sums => new Sums().add({}, value)
  return [
    counter('weir_records_in_total', 'Records received.', one(records.records)),
    counter('weir_records_bad_total', 'Records that went to the dead letters.', one(records.bad)),
    counter('weir_records_history_total', 'Records of the past.', one(records.history)),
    counter('weir_records_evaluated_total', 'Records that were evaluated.', evaluated),
    counter('weir_decisions_total', 'Decisions about evaluated records.', decisions),
    counter('weir_records_unserved_total', 'Evaluated records that no edge serves.', one(records.unserved)),
    counter(
      'weir_records_unowned_total',
      'Those of them that name no account, of several: no account sees them.',
      one(records.unowned),
    ),
    counter('weir_audits_in_total', 'Audit events received from other services.', one(records.audits)),
    counter('weir_audits_bad_total', 'Those of them that went to the dead letters.', one(records.audits_bad)),
    counter('weir_events_produced_total', 'Events produced for destinations.', produced),
    counter('weir_events_filtered_total', 'Events that filters of subscriptions dropped.', filtered),
    counter('weir_events_delivered_total', 'Events that destinations accepted.', ends.delivered),
    counter('weir_events_dead_lettered_total', 'Events set aside in the dead letters.', ends.dead_lettered),
    counter(
      'weir_events_dropped_total',
      'Events dropped for their age, with their deleted destination, or because their packs vanished.',
      ends.dropped,
    ),
    counter(
      'weir_events_expired_total',
      'Events dropped for their age, by kind; part of the dropped ones.',
      lost.age,
    ),
    counter(
      'weir_events_vanished_total',
      'Events whose packs left the stream of deliveries undelivered, by kind; part of the dropped ones.',
      lost.vanished,
    ),
    ends.backlog.text('gauge', 'weir_events_backlog', 'Events that are not delivered yet.'),
  ].join('')
}
