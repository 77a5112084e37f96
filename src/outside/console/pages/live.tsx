/** Decisions as they happen. */
import { useMemo } from 'preact/hooks'
import type { WatchOptions } from '../../../words/client/client.js'
import type { LoggedDecision } from '../../../words/shape/decisions/logged-decision.js'
import { api } from '../data/asking/api.js'
import { LiveRows, useLive } from '../data/asking/live-rows.js'
import { copyText } from '../data/clipboard.js'
import { openEntry, parameter, setParameters } from '../data/location.js'
import { bytes, number, percent } from '../data/texts/format.js'
import { shellArgument } from '../data/texts/shell.js'
import { Button } from '../kit/button.js'
import { useKeys } from '../kit/keyboard.js'
import { type Column, Table } from '../kit/tables/table.js'
import { decisionColumns, main } from '../parts/decision-cells.js'
import { FilterInput, isFilterFault } from '../parts/editor/filter-input.js'
import { Name } from '../parts/name.js'
import { OpenedWhy } from '../parts/opened-why.js'
import { Command, Empty, Failure, NoRows } from '../parts/states.js'

const { time, decision, client, from, endpoint, request, decidedBy } = decisionColumns

const columns: readonly Column<LoggedDecision>[] = [
  ...[time, decision, main(client), from, endpoint, request, decidedBy],
  { title: 'In', cell: ({ bytes_in }) => bytes(bytes_in), isNumber: true },
  { title: 'Out', cell: ({ bytes_out }) => bytes(bytes_out), isNumber: true },
]

/** The last decisions of the log, and those that come. */
const decisions = (filter: string, edge: string) => ({
  watch: (options: WatchOptions) =>
    api.watchDecisions({ filter: filter || undefined, edge: edge || undefined, ...options }),
  past: (limit: number) =>
    api.decisions({ ...(filter && { filter }), ...(edge && { edgeId: edge }), since: '24h', limit }),
})

export function Live() {
  const live = useMemo(() => new LiveRows<LoggedDecision>(({ id }) => id), [])
  const [filter, edge, opened] = [parameter('filter'), parameter('edge'), parameter('open')]
  useLive(live, [filter, edge], decisions(filter, edge))
  const pause = (): void => {
    live.isPaused.value = !live.isPaused.value
  }
  useKeys({ p: pause })
  const entry = live.known(opened)
  return (
    <div class="stack live">
      <div class="row apart">
        <div class="row">
          <h1>Live</h1>
          <Rate live={live} />
        </div>
        <div class="row">
          <Button onClick={pause} title="Key p">
            {live.isPaused.value ? 'Go on' : 'Pause'}
          </Button>
          <Button onClick={() => copyAsTap(filter, edge)}>Copy as weir tap</Button>
        </div>
      </div>
      <FilterInput
        label="Filter"
        about="decisions"
        value={filter}
        error={live.error.value}
        placeholder="decision != 'allow' && country == 'DE'"
        onApply={(text) => setParameters({ filter: text })}
      />
      {edge !== '' && (
        <p class="row">
          Only <Name id={edge} />
          <Button onClick={() => setParameters({ edge: '' })}>All edges</Button>
        </p>
      )}
      {live.error.value !== undefined && !isFilterFault(live.error.value) && (
        <Failure error={live.error.value} again={() => live.again()} />
      )}
      <section
        aria-label="Decisions"
        onMouseEnter={() => {
          live.isPointedAt.value = true
        }}
        onMouseLeave={() => {
          live.isPointedAt.value = false
        }}
      >
        <Table
          label="Decisions as they happen, newest first"
          rows={live.rows.value}
          columns={columns}
          keyOf={({ id }) => id}
          opened={opened}
          onOpen={({ id }) => openEntry(id)}
          empty={
            <NoRows live={live}>
              <Quiet isFiltered={filter !== '' || edge !== ''} />
            </NoRows>
          }
        />
      </section>
      <OpenedWhy id={opened} known={entry} />
    </div>
  )
}

/** The true rate, and which share of it is shown. */
function Rate({ live }: { readonly live: LiveRows<LoggedDecision> }) {
  const { seen, sent, lost } = live.rate.value
  const share = seen > sent ? `, ${percent(sent, seen)} of them shown` : ''
  const slow = lost > 0 ? `, ${number(lost)} left out because this browser is slow` : ''
  const waiting = live.waiting.value
  return (
    <p class="quiet rate" role="status" aria-live="off">
      {number(seen)} decisions/s{share}
      {slow}
      {waiting > 0 &&
        ` · ${number(waiting)} new, held ${live.isPaused.value ? 'while paused' : 'while you point here'}`}
    </p>
  )
}

const Quiet = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty>
      <p>No decision of the last day matches.</p>
      <Button onClick={() => setParameters({ filter: '', edge: '' })}>Show all decisions</Button>
    </Empty>
  ) : (
    <Empty>
      <p>No record has arrived in the last day. Publish some:</p>
      <Command text="weir publish --format nginx --file /var/log/nginx/access.log" />
    </Empty>
  )

/** The same view in a terminal. */
async function copyAsTap(filter: string, edge: string): Promise<void> {
  const options = [
    filter && `--filter ${shellArgument(filter)}`,
    edge && `--edge ${shellArgument(edge)}`,
  ].filter(Boolean)
  const command = ['weir tap', ...options].join(' ')
  await copyText(command, command)
}
