/** The books as Prometheus text: totals of the whole deployment, the same in every process that keeps books. */
import { recordTypes } from '../record/traffic-record.js'
import type { Books } from './books.js'

/** The kind of target of a configured destination; undefined if there is no such destination. */
type TargetOf = (destinationId: string) => string | undefined

/** The kind shown for events of a crashed attempt whose source was removed before the next attempt. */
const reconfigured = 'reconfigured'

/** The kind of target shown for a destination that was deleted before any deliverer knew it. */
const unknown = 'unknown'

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly samples: readonly Sample[]
}

export function booksMetrics(books: Books, targetOf: TargetOf): string {
  return families(books, targetOf).map(familyText).join('')
}

function families(books: Books, targetOf: TargetOf): Family[] {
  const { records } = books
  const target = (id: string): string => targetOf(id) ?? books.targetOf(id) ?? unknown
  const produced = new Sums()
  const filtered = new Sums()
  for (const source of books.sources) {
    const labels = { kind: source.kind, target: target(source.destination) }
    produced.add(labels, source.produced)
    filtered.add(labels, source.filtered)
  }
  const ends = { delivered: new Sums(), dead_lettered: new Sums(), dropped: new Sums(), backlog: new Sums() }
  for (const [id, counts] of books.destinations()) {
    const extra = books.extra(id)
    if (extra > 0) produced.add({ kind: reconfigured, target: target(id) }, extra)
    for (const [name, sums] of Object.entries(ends)) {
      sums.add({ target: target(id) }, counts[name as keyof typeof ends])
    }
  }
  const counter = (name: string, help: string, samples: readonly Sample[]): Family => ({
    name,
    help,
    type: 'counter',
    samples,
  })
  const one = (value: number): Sample[] => [{ labels: {}, value }]
  return [
    counter('weir_records_in_total', 'Records received.', one(records.records)),
    counter('weir_records_bad_total', 'Records that went to the dead letters.', one(records.bad)),
    counter(
      'weir_records_evaluated_total',
      'Records that were evaluated.',
      recordTypes.map((type) => ({ labels: { type }, value: records[type] })),
    ),
    counter('weir_decisions_total', 'Decisions about evaluated records.', [
      { labels: { decision: 'allow' }, value: records.allow },
      { labels: { decision: 'block' }, value: records.block },
      { labels: { decision: 'deny' }, value: records.deny },
    ]),
    counter('weir_records_unserved_total', 'Evaluated records that no edge serves.', one(records.unserved)),
    counter('weir_audits_in_total', 'Audit events received from other services.', one(records.audits)),
    counter(
      'weir_audits_bad_total',
      'Audit events of other services that went to the dead letters.',
      one(records.audits_bad),
    ),
    counter('weir_events_produced_total', 'Events produced for destinations.', produced.samples),
    counter('weir_events_filtered_total', 'Events that filters of subscriptions dropped.', filtered.samples),
    counter('weir_events_delivered_total', 'Events that destinations accepted.', ends.delivered.samples),
    counter(
      'weir_events_dead_lettered_total',
      'Events set aside in the dead letters.',
      ends.dead_lettered.samples,
    ),
    counter(
      'weir_events_dropped_total',
      'Events dropped with their deleted destination.',
      ends.dropped.samples,
    ),
    {
      name: 'weir_events_backlog',
      help: 'Events that are not delivered yet.',
      type: 'gauge',
      samples: ends.backlog.samples,
    },
  ]
}

/** Sums per set of labels. */
class Sums {
  readonly #byLabels = new Map<string, { labels: Readonly<Record<string, string>>; value: number }>()

  add(labels: Readonly<Record<string, string>>, value: number): void {
    const key = JSON.stringify(labels)
    const known = this.#byLabels.get(key)
    if (known === undefined) this.#byLabels.set(key, { labels, value })
    else known.value += value
  }

  get samples(): readonly Sample[] {
    return [...this.#byLabels.values()]
  }
}

function familyText({ name, help, type, samples }: Family): string {
  const lines = samples.map(({ labels, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`)
    return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
