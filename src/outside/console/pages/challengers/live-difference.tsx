/** Different decisions of a challenger's draft about live traffic so far: in a sentence, as a picture, as lists. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Resource } from '../../../../words/client/kinds.js'
import type { ChallengerDifference } from '../../../../words/shape/challenger-difference.js'
import type { LoggedDecision } from '../../../../words/shape/decisions/logged-decision.js'
import { api, useAnswer } from '../../data/asking/api.js'
import { LiveRows, useLive } from '../../data/asking/live-rows.js'
import { openEntry, parameter, setParameters } from '../../data/location.js'
import { number, percent } from '../../data/texts/format.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { Name } from '../../parts/name.js'
import { Answered, Empty, Failure, NoRows } from '../../parts/states.js'
import { Directions, Frequent } from '../../parts/trial/trial-lists.js'
import { TrialPicture } from '../../parts/trial/trial-picture.js'
import { DecisionWord } from '../../parts/words.js'
import { DifferenceDrawer, differenceColumns } from './difference-drawer.js'

const lookEveryMs = 10_000

export function LiveDifference({
  challenger: { id, state },
}: {
  readonly challenger: Resource<'challenger'>
}) {
  const difference = useAnswer(
    [id, state],
    (client) => client.challengers.difference(id),
    state === 'running' ? { everyMs: lookEveryMs } : {},
  )
  return (
    <section class="stack" aria-labelledby="difference">
      <h2 id="difference">On live traffic</h2>
      <Answered answer={difference}>{(found) => <Difference difference={found} />}</Answered>
    </section>
  )
}

function Difference({ difference }: { readonly difference: ChallengerDifference }) {
  const opened = useSignal<LoggedDecision | undefined>(undefined)
  const { records, changed, missing, first_at, last_at, deciders, examples } = difference
  if (records === 0)
    return <p class="verdict">No record was compared yet. What arrives is shown here some seconds later.</p>
  return (
    <div class="stack">
      <div>
        <p class="verdict">
          <strong>{number(changed)}</strong> of {number(records)} records ({percent(changed, records)}) are
          decided differently.
        </p>
        {first_at !== null && last_at !== null && (
          <p class="quiet">
            Stored from <Time at={first_at} /> to <Time at={last_at} />.
          </p>
        )}
      </div>
      {missing.length > 0 && <p class="warning-line">{missingText(missing)}</p>}
      <Directions matrix={difference.matrix} />
      {!missing.includes('over_time') && <TrialPicture overTime={difference.over_time} />}
      {changed > 0 && <Frequent decisions={difference} />}
      {deciders.length > 0 && (
        <>
          <h3>What decides</h3>
          <Table
            label="What decides about these records, live and with the draft"
            rows={deciders}
            columns={deciderColumns}
            keyOf={(each) => JSON.stringify(each)}
          />
        </>
      )}
      {examples.length > 0 && (
        <>
          <h3>Examples</h3>
          <Table
            label="Records that are decided differently"
            rows={examples}
            columns={differenceColumns}
            keyOf={({ id }) => id}
            opened={opened.value?.id}
            onOpen={(example) => {
              opened.value = example
            }}
          />
        </>
      )}
      {opened.value && (
        <DifferenceDrawer
          entry={opened.value}
          onClose={() => {
            opened.value = undefined
          }}
        />
      )}
    </div>
  )
}

const partTexts: Readonly<Record<ChallengerDifference['missing'][number], string>> = {
  deciders: 'what decides',
  examples: 'examples',
  over_time: 'the course over time',
  clients: 'clients',
  edges: 'edges',
  edge_changes: 'edges',
  countries: 'countries',
  country_changes: 'countries',
}

const missingText = (missing: ChallengerDifference['missing']): string =>
  `There was no time to read ${[...new Set(missing.map((part) => partTexts[part]))].join(', ')}: this page shows the rest. It reads them when it is opened again and the machine is less busy.`

type Deciders = ChallengerDifference['deciders'][number]

const deciderColumns: readonly Column<Deciders>[] = [
  {
    title: 'Now',
    cell: ({ before, before_decided_by }) => <Decided decision={before} by={before_decided_by} />,
  },
  {
    title: 'With the draft',
    cell: ({ after, after_decided_by }) => <Decided decision={after} by={after_decided_by} />,
    isWide: true,
  },
  { title: 'Records', isNumber: true, cell: ({ records }) => number(records) },
]

interface DecidedProps {
  readonly decision: Deciders['before']
  readonly by: Deciders['before_decided_by']
}

const Decided = ({ decision, by: { type, id, policy, rule_id } }: DecidedProps) => (
  <>
    <DecisionWord decision={decision} /> {type !== 'none' && 'by '}
    {rule_id !== null ? (
      <Name id={rule_id} />
    ) : policy !== null ? (
      <span title={id ?? undefined}>{policy}</span>
    ) : (
      id !== null && <Name id={id} />
    )}
  </>
)

/** Decisions that differ, as they happen. */
export function LiveDifferences({ id }: { readonly id: string }) {
  const live = useMemo(() => new LiveRows<LoggedDecision>((row) => row.id), [id])
  useLive(live, [], { watch: (options) => api.challengers.watch(id, options) })
  const opened = parameter('open')
  const entry = opened === '' ? undefined : live.known(opened)
  const waiting = live.waiting.value
  return (
    <section
      class="stack"
      aria-labelledby="live"
      onMouseEnter={() => {
        live.isPointedAt.value = true
      }}
      onMouseLeave={() => {
        live.isPointedAt.value = false
      }}
    >
      <h2 id="live">As they happen</h2>
      {live.error.value !== undefined && <Failure error={live.error.value} again={() => live.again()} />}
      {waiting > 0 && <p class="quiet">{number(waiting)} new, held while you point here</p>}
      <Table
        label="Decisions that differ as they happen, newest first"
        rows={live.rows.value}
        columns={differenceColumns}
        keyOf={(row) => row.id}
        opened={opened}
        onOpen={(row) => openEntry(row.id)}
        empty={
          <NoRows live={live}>
            <Empty>No decision has differed since this page was opened.</Empty>
          </NoRows>
        }
      />
      {entry && <DifferenceDrawer entry={entry} onClose={() => setParameters({ open: '' })} />}
    </section>
  )
}
