/** The state of a destination, its counts and what it costs. */
import type { DeliveryStatus } from '../../../../words/shape/delivery-status.js'
import { bytes, number, shortNumber } from '../../data/texts/format.js'
import { type Fact, Facts } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Sentence } from '../../kit/sentence.js'
import { Time } from '../../kit/time.js'
import { DestinationState } from '../../parts/destination-state.js'

interface StatePanelProps {
  readonly id: string
  readonly status: DeliveryStatus
}

export function StatePanel({ id, status }: StatePanelProps) {
  return (
    <div class="split">
      <section class="panel stack" aria-label="State">
        <h2>State</h2>
        {status.advice !== null && (
          <p>
            <Sentence text={status.advice} />
          </p>
        )}
        <Facts entries={stateFacts(status)} />
        {status.counts.dead_lettered > 0 && (
          <Link to={['dead-letters']} with={{ type: 'event', destination: id }}>
            Dead letters of this destination
          </Link>
        )}
      </section>
      <div class="stack">
        <section class="panel stack" aria-label="Counts">
          <h2>Events, ever</h2>
          <Facts entries={countFacts(status)} />
        </section>
        <Billing billing={status.billing} />
      </div>
    </div>
  )
}

const ago = (at: string | null) => <Time at={at} isRelative />

function stateFacts(status: DeliveryStatus): Fact[] {
  const { cause, since, rate, backlog, last_success_at, last_error, as_of, behind } = status
  const facts: (Fact | null)[] = [
    ['State', <DestinationState key="state" status={status} />],
    cause === null ? null : ['Cause', cause],
    ['Since', ago(since)],
    ['Accepted now', typeof rate === 'number' ? `${shortNumber(rate)} events/s` : 'not known'],
    ['Backlog', `${number(backlog.events)} events`],
    ['Oldest that waits', ago(backlog.oldest_at)],
    backlog.expires_at === null ? null : ['Dropped for its age', ago(backlog.expires_at)],
    ...(behind === null ? [] : behindFacts(behind)),
    ['Last accepted', ago(last_success_at)],
    [
      'Last error',
      last_error === null ? (
        <span class="quiet">none</span>
      ) : (
        <>
          {ago(last_error.at)}: <span class="mono">{last_error.code}</span> {last_error.msg}
        </>
      ),
    ],
    ['Reported', ago(as_of)],
  ]
  return facts.filter((each) => each !== null)
}

type Behind = NonNullable<DeliveryStatus['behind']>

const behindFacts = ({ since, messages, missed, expires_at }: Behind): (Fact | null)[] => [
  ['Behind since', ago(since)],
  ['Records that wait', `${number(messages)} messages`],
  ['Records it has missed', `${number(missed)} messages`],
  expires_at === null ? null : ['The next are removed', ago(expires_at)],
]

const countNames = [
  ['produced', 'Produced'],
  ['filtered', 'Kept back by filters'],
  ['delivered', 'Delivered'],
  ['retried', 'Sent again'],
  ['dead_lettered', 'Dead letters'],
  ['dropped', 'Dropped'],
] as const

function countFacts({ counts, dropped }: DeliveryStatus): Fact[] {
  const lost = dropped.map(
    ({ type, reason, events }): Fact => [
      `… ${type}, ${reason === 'age' ? 'too old' : 'vanished'}`,
      number(events),
    ],
  )
  return [...countNames.map(([name, text]): Fact => [text, number(counts[name])]), ...lost]
}

function Billing({ billing }: Pick<DeliveryStatus, 'billing'>) {
  if (billing === null) return null
  const units = billing.units.map(
    ({ name, about, count, count_if_packed: packed }): Fact => [
      name.replaceAll('_', ' '),
      <span key={name} title={about}>
        {number(count)}
        {packed !== null && `; ${number(packed)} if packed`}
      </span>,
    ],
  )
  return (
    <section class="panel stack" aria-label="Billing">
      <h2>
        Billed since <Time at={billing.since} />
      </h2>
      <Facts
        entries={[
          ['Events', number(billing.events)],
          ['Records', `${number(billing.records)}, ${bytes(billing.bytes)}`],
          ...units,
        ]}
      />
      {billing.saving !== null && <p class="quiet">{billing.saving}</p>}
    </section>
  )
}
