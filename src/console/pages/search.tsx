/** Decisions of the past. */
import { useSignal } from '@preact/signals'
import type { LoggedDecision } from '../../shape/logged-decision.js'
import { firstOf, useAnswer } from '../data/api.js'
import { parameter, setParameters } from '../data/location.js'
import { WhyDrawer } from '../parts/explanation.js'
import { FilterInput } from '../parts/filter-input.js'
import { Answered } from '../parts/states.js'
import { Table } from '../parts/table.js'

export function Search() {
  const opened = useSignal<LoggedDecision | undefined>(undefined)
  const client = parameter('client')
  const answer = useAnswer([client, parameter('filter')], (api) =>
    firstOf(
      api.decisions({
        ...(client && { client }),
        ...(parameter('filter') && { filter: parameter('filter') }),
      }),
      50,
    ),
  )
  return (
    <>
      <h1>Search</h1>
      <FilterInput
        label="Filter"
        about="decisions"
        value={parameter('filter')}
        error={answer.error}
        onApply={(filter) => setParameters({ filter })}
      />
      <Answered answer={answer}>
        {({ entries }) => (
          <Table
            label="Decisions"
            rows={entries}
            keyOf={({ id }) => id}
            onOpen={(entry) => {
              opened.value = entry
            }}
            columns={[
              { title: 'Client', cell: ({ client_ip }) => client_ip },
              { title: 'Decision', cell: ({ decision }) => decision },
            ]}
          />
        )}
      </Answered>
      {opened.value && (
        <WhyDrawer
          entry={opened.value}
          onClose={() => {
            opened.value = undefined
          }}
        />
      )}
    </>
  )
}
