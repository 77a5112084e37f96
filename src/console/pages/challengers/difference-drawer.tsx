/** A decision that differs: what is decided, what the draft decides, and why. */
import type { LoggedDecision } from '../../../shape/logged-decision.js'
import { useAnswer } from '../../data/asking/api.js'
import { whyOf } from '../../data/decisions/why.js'
import { Chain } from '../../parts/chain.js'
import { ClientCell, CountryCell, EndpointCell, RequestCell } from '../../parts/decision-cells.js'
import { Drawer } from '../../parts/drawer.js'
import { EntryFacts } from '../../parts/explanation.js'
import { Link } from '../../parts/link.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'
import type { Column } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { DecisionWord } from '../../parts/words.js'

export const differenceColumns: readonly Column<LoggedDecision>[] = [
  { title: 'Time', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'Now → draft',
    cell: ({ decision, challenger }) => (
      <>
        <DecisionWord decision={decision} /> →{' '}
        {challenger === null ? '?' : <DecisionWord decision={challenger.decision} />}
      </>
    ),
  },
  { title: 'Client', cell: (entry) => <ClientCell entry={entry} /> },
  { title: 'Country', isExtra: true, cell: (entry) => <CountryCell entry={entry} /> },
  { title: 'Endpoint', isExtra: true, cell: (entry) => <EndpointCell entry={entry} /> },
  { title: 'Request', isExtra: true, isWide: true, cell: (entry) => <RequestCell entry={entry} /> },
]

interface DifferenceDrawerProps {
  readonly entry: LoggedDecision
  readonly onClose: () => void
}

export function DifferenceDrawer({ entry, onClose }: DifferenceDrawerProps) {
  const { id, client_ip, decision, challenger, record_id } = entry
  const answer = useAnswer([id], async (client) => ({ of: id, why: await whyOf(client, entry) }))
  return (
    <Drawer title={`${client_ip}: ${decision} → ${challenger?.decision ?? '?'}`} onClose={onClose}>
      <EntryFacts entry={entry} />
      <p>
        <Link to={['explain', record_id]} with={{ decision: id }}>
          Explain: then and now, its events
        </Link>
      </p>
      <div class="halves">
        <section class="stack" aria-labelledby="now">
          <h3 id="now">
            Now: <DecisionWord decision={decision} />
          </h3>
          <Answered answer={answer}>
            {({ of, why: { explained, missing } }) =>
              of === id && (
                <>
                  {explained?.explanation && <Chain explanation={explained.explanation} />}
                  {missing !== null && <p class="quiet">{missing}</p>}
                </>
              )
            }
          </Answered>
        </section>
        {challenger !== null && <Draft challenger={challenger} />}
      </div>
    </Drawer>
  )
}

const Draft = ({
  challenger: {
    decision,
    decided_by: { type, id, policy, rule_id },
  },
}: {
  readonly challenger: NonNullable<LoggedDecision['challenger']>
}) => (
  <section class="stack" aria-labelledby="with-the-draft">
    <h3 id="with-the-draft">
      With the draft: <DecisionWord decision={decision} />
    </h3>
    <p>
      {type === 'none' && 'Nothing said no.'}
      {rule_id !== null && (
        <>
          By the rule <Name id={rule_id} />.
        </>
      )}
      {rule_id === null && policy !== null && (
        <>
          By the traffic policy <strong>“{policy}”</strong> of {id !== null && <Name id={id} />}.
        </>
      )}
      {rule_id === null &&
        policy === null &&
        type !== 'none' &&
        'Because no allow rule contains the address.'}
    </p>
  </section>
)
