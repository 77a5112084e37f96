/** The changes that a draft would have made: in a sentence, as a picture, and as lists. */
import { useSignal } from '@preact/signals'
import type { Trial, TrialDecisions, TrialExample } from '../../../../words/shape/trial.js'
import { number, percent } from '../../data/texts/format.js'
import { Drawer } from '../../kit/drawer.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { Chain } from '../chain.js'
import { ClientLink } from '../decision-cells.js'
import { DecisionWord } from '../words.js'
import { Directions, Frequent } from './trial-lists.js'
import { TrialPicture } from './trial-picture.js'

export function TrialResult({ trial: { decisions } }: { readonly trial: Trial }) {
  const opened = useSignal<TrialExample | undefined>(undefined)
  if (decisions === null) return null
  return (
    <div class="stack">
      <Summary decisions={decisions} />
      <MissingNames decisions={decisions} />
      <Directions matrix={decisions.matrix} />
      {decisions.records > 0 && <TrialPicture overTime={decisions.over_time} />}
      {decisions.changed > 0 && <Frequent decisions={decisions} />}
      {decisions.examples.length > 0 && (
        <>
          <h3>Examples</h3>
          <Table
            label="Records that would be decided differently"
            rows={decisions.examples}
            columns={exampleColumns}
            keyOf={({ record_id, at }) => `${record_id} ${at}`}
            onOpen={(example) => {
              opened.value = example
            }}
            opened={opened.value && `${opened.value.record_id} ${opened.value.at}`}
          />
        </>
      )}
      {opened.value && (
        <ExampleDrawer
          example={opened.value}
          onClose={() => {
            opened.value = undefined
          }}
        />
      )}
    </div>
  )
}

function Summary({
  decisions: { records, concerned, changed, ...others },
}: {
  readonly decisions: TrialDecisions
}) {
  if (records === 0)
    return <p class="verdict">There is no recorded traffic in this time: nothing could be tried.</p>
  const pairs = [
    ['log events', others.log_actions],
    ['warnings of restrictions', others.warnings],
    ['expressions without a result', others.failures],
  ] as const
  const different = pairs.filter(([, { before, after }]) => before !== after)
  return (
    <div>
      <p class="verdict">
        <strong>{number(changed)}</strong>{' '}
        {concerned === null
          ? `of ${number(records)} records (${percent(changed, records)})`
          : `of the ${number(concerned)} records of what is drafted (${percent(changed, concerned)})`}{' '}
        would be decided differently.
        {concerned !== null && concerned < records && (
          <span class="quiet"> The account had {number(records)} records in this time.</span>
        )}
      </p>
      {different.map(([name, { before, after }]) => (
        <p key={name}>
          {name}: {number(before)} → {number(after)}
        </p>
      ))}
    </div>
  )
}

/** Conditions about names without a value are never met: zero changes may mean just that. */
function MissingNames({ decisions: { names } }: { readonly decisions: TrialDecisions }) {
  const rare = names.filter(({ with_value, records }) => records > 0 && with_value < records)
  return (
    <>
      {rare.map(({ name, records, with_value, note }) => (
        <p key={name} class="warning-line">
          <code>{name}</code> has a value for {number(with_value)} of {number(records)} records
          {note === null ? '.' : `: ${note}`}
        </p>
      ))}
    </>
  )
}

const endpointOf = ({ server_name, server_port }: TrialExample): string =>
  `${server_name ?? '?'}:${server_port ?? '?'}`

/** The range or policy that decided, in a few words. */
const deciderOf = ({ decision, explanation: { decided_by } }: TrialExample['after']): string =>
  decision === 'allow' ? '' : (decided_by.cidr ?? decided_by.name ?? 'no allow rule')

const exampleColumns: readonly Column<TrialExample>[] = [
  { title: 'Time', cell: ({ at }) => <Time at={at} /> },
  { title: 'Client', cell: ({ client_ip }) => <ClientLink address={client_ip} /> },
  { title: 'Country', cell: ({ country }) => country ?? '' },
  { title: 'Endpoint', cell: endpointOf },
  {
    title: 'Now → draft',
    isMain: true,
    cell: ({ before, after }) => (
      <>
        <DecisionWord decision={before.decision} /> → <DecisionWord decision={after.decision} />
      </>
    ),
  },
  { title: 'By', cell: ({ before, after }) => deciderOf(after) || deciderOf(before) },
]

function ExampleDrawer({
  example,
  onClose,
}: {
  readonly example: TrialExample
  readonly onClose: () => void
}) {
  const { client_ip, before, after, record_id, at } = example
  return (
    <Drawer title={`${client_ip} to ${endpointOf(example)}`} onClose={onClose}>
      <dl class="facts">
        <dt>Stored</dt>
        <dd>
          <Time at={at} />
        </dd>
        <dt>Record</dt>
        <dd>
          <code>{record_id}</code>
        </dd>
      </dl>
      <h3>
        With the draft: <DecisionWord decision={after.decision} />
      </h3>
      <Chain explanation={after.explanation} />
      <h3>
        Now: <DecisionWord decision={before.decision} />
      </h3>
      <Chain explanation={before.explanation} />
    </Drawer>
  )
}
