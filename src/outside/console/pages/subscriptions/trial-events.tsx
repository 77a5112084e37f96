/** The events that a subscription would have made of recorded traffic. */
import { useSignal } from '@preact/signals'
import type { TrialEvents } from '../../../../words/shape/trial.js'
import { bytes, number, percent } from '../../data/texts/format.js'
import { CopyText } from '../../kit/copy.js'
import { Facts } from '../../kit/facts.js'
import { type Column, Table } from '../../kit/tables/table.js'

type TrialSource = TrialEvents['sources'][number]

const columns: readonly Column<TrialSource>[] = [
  { title: 'Source', isMain: true, cell: ({ type }) => type },
  { title: 'Events', cell: ({ events }) => number(events), isNumber: true },
  { title: 'Size', cell: (source) => bytes(source.bytes), isNumber: true },
  {
    title: 'Kept back by the filter',
    cell: ({ filtered, events }) => `${number(filtered)} (${percent(filtered, filtered + events)})`,
    isNumber: true,
  },
  { title: 'Filter failed', cell: ({ failed }) => number(failed), isNumber: true },
  {
    title: 'Names without a value',
    cell: ({ names }) =>
      names
        .filter(({ note }) => note !== null)
        .map(({ name, note }) => (
          <p key={name}>
            <code>{name}</code>: {note}
          </p>
        )),
    isWide: true,
  },
]

export function TrialEventsResult({ events }: { readonly events: TrialEvents | null }) {
  if (events === null) return null
  const { records, per_hour, billing, sources, sources_not_tried: others } = events
  return (
    <div class="stack">
      <p>
        <strong>{number(events.events)} events</strong> of {number(records)} records, {bytes(events.bytes)};{' '}
        {number(per_hour.events)} events and {bytes(per_hour.bytes)} per hour.
      </p>
      <Table label="Events by source" rows={sources} columns={columns} keyOf={({ type }) => type} />
      {others.length > 0 && <p class="quiet">Not made from records, so not tried: {others.join(', ')}.</p>}
      <details>
        <summary>What AWS would bill</summary>
        <Facts
          entries={[
            ['Kinesis', `${number(billing.kinesis_payload_units)} payload units of 25 KiB`],
            ['Firehose', bytes(billing.firehose_bytes)],
            ['CloudWatch Logs', bytes(billing.cloudwatch_logs_bytes)],
          ]}
        />
      </details>
      <Examples examples={events.examples} />
    </div>
  )
}

function Examples({ examples }: Pick<TrialEvents, 'examples'>) {
  const index = useSignal(0)
  if (examples.length === 0) return null
  const shown = Math.min(index.value, examples.length - 1)
  return (
    <div class="stack">
      <div class="row">
        <h3>
          Example {shown + 1} of {examples.length}
        </h3>
        <button
          type="button"
          onClick={() => {
            index.value = (shown + 1) % examples.length
          }}
        >
          Next
        </button>
      </div>
      <CopyText what="the event" text={JSON.stringify(examples[shown], null, 2)} />
    </div>
  )
}
