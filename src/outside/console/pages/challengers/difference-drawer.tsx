/** A decision that differs: what is decided, what the draft decides, and why. */
import type { Client } from '../../../../words/client/client.js'
import type { Explanation as Explained } from '../../../../words/shape/decisions/decision.js'
import type { LoggedDecision } from '../../../../words/shape/decisions/logged-decision.js'
import { useAnswer } from '../../data/asking/api.js'
import { whyOf } from '../../data/decisions/why.js'
import { Drawer } from '../../kit/drawer.js'
import { Link } from '../../kit/link.js'
import type { Column } from '../../kit/tables/table.js'
import { Chain } from '../../parts/chain.js'
import { Decider } from '../../parts/decider.js'
import { ClientLink, decisionColumns, wide } from '../../parts/decision-cells.js'
import { EntryFacts } from '../../parts/explanation.js'
import { Answered } from '../../parts/states.js'
import { DecisionWord } from '../../parts/words.js'

const { time, client, from, endpoint, request } = decisionColumns

const linkedClient = {
  ...client,
  cell: ({ client_ip }: LoggedDecision) => <ClientLink address={client_ip} />,
}

export const differenceColumns: readonly Column<LoggedDecision>[] = [
  time,
  {
    title: 'Now → draft',
    isMain: true,
    cell: ({ decision, challenger }) => (
      <>
        <DecisionWord decision={decision} /> →{' '}
        {challenger === null ? '?' : <DecisionWord decision={challenger.decision} />}
      </>
    ),
  },
  ...[linkedClient, from, endpoint, wide(request)],
]

interface DifferenceDrawerProps {
  readonly entry: LoggedDecision
  readonly onClose: () => void
}

export function DifferenceDrawer({ entry, onClose }: DifferenceDrawerProps) {
  const { id, client_ip, decision, challenger, record_id } = entry
  const answer = useAnswer([id], async (client) => ({ of: id, both: await bothOf(client, entry) }))
  return (
    <Drawer title={`${client_ip}: ${decision} → ${challenger?.decision ?? '?'}`} onClose={onClose}>
      <EntryFacts entry={entry} />
      <p>
        <Link to={['explain', record_id]} with={{ decision: id }}>
          Explain: then and now, its events
        </Link>
      </p>
      <Answered answer={answer}>
        {({ of, both: { before, after, missing } }) =>
          // An answer about the entry that was open before.
          of === id && (
            <>
              <div class="halves">
                <Judged title="Now" decision={decision} explanation={before} />
                {challenger !== null && (
                  <Judged title="With the draft" decision={challenger.decision} explanation={after} />
                )}
              </div>
              {missing !== null && <p class="quiet">{missing}</p>}
            </>
          )
        }
      </Answered>
    </Drawer>
  )
}

interface Both {
  readonly before: Explained | null
  readonly after: Explained | null
  /** Why one is missing. */
  readonly missing: string | null
}

/** Both explanations of an entry: of its record, as soon as the log has it; until then, the present one. */
async function bothOf(client: Client, entry: LoggedDecision): Promise<Both> {
  const { id, at, challenger } = entry
  const until = new Date(Date.parse(at) + 1).toISOString()
  const examples =
    challenger === null ? [] : await client.challengers.examples(challenger.id, { since: at, until })
  const found = examples.find(({ decision }) => decision.id === id)
  if (found !== undefined)
    return {
      before: found.before?.explanation ?? null,
      after: found.after?.explanation ?? null,
      missing: found.missing,
    }
  const { explained, missing } = await whyOf(client, entry)
  return {
    before: explained?.explanation ?? null,
    after: null,
    missing: missing ?? 'The log does not have this record yet: the draft is explained some seconds later.',
  }
}

interface JudgedProps {
  readonly title: string
  readonly decision: LoggedDecision['decision']
  readonly explanation: Explained | null
}

const Judged = ({ title, decision, explanation }: JudgedProps) => (
  <section class="stack" aria-label={title}>
    <h3>
      {title}: <DecisionWord decision={decision} />
    </h3>
    {explanation === null ? (
      <p class="quiet">Not explained.</p>
    ) : (
      <>
        <p>
          <Decider explanation={explanation} />
        </p>
        <Chain explanation={explanation} />
      </>
    )}
  </section>
)
