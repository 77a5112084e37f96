/** The decision about a record at the time, the decision that it would get now, and what became of its events. */
import type { DecisionRequest } from '../../../../words/client/client.js'
import type { Decision } from '../../../../words/shape/decisions/decision.js'
import type { AskedDecision, PublishedRecord, TracedRecord } from '../../../../words/shape/traced-record.js'
import { may } from '../../data/access/session.js'
import { useAnswer } from '../../data/asking/api.js'
import { now } from '../../data/clock.js'
import { questionOf, unservedOf } from '../../data/decisions/why.js'
import { parameter } from '../../data/location.js'
import { localTime, number, textOf } from '../../data/texts/format.js'
import { Link } from '../../kit/link.js'
import { EntryFacts, Explanation } from '../../parts/explanation.js'
import { Answered } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'
import { Events } from './events.js'
import { NextSteps } from './next-steps.js'

type Judged = PublishedRecord | AskedDecision

export function Traced({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (client) => client.record(id))
  return (
    <Answered answer={answer}>
      {(traced) => {
        const all: readonly Judged[] = [...traced.publications, ...traced.asked]
        const judged = all.find(({ decision }) => decision.id === parameter('decision')) ?? all[0]
        const published = traced.publications.find(({ decision }) => decision.id === judged?.decision.id)
        if (judged === undefined) return <p>The log has nothing of this record.</p>
        return (
          <>
            <Others traced={traced} all={all} shown={judged} />
            <ThenAndNow key={judged.decision.id} judged={judged} />
            {published !== undefined && <Events published={published} />}
          </>
        )
      }}
    </Answered>
  )
}

interface OthersProps {
  readonly traced: TracedRecord
  readonly all: readonly Judged[]
  readonly shown: Judged
}

/** A record may be published and asked about more than once. */
function Others({ traced, all, shown }: OthersProps) {
  const { record_id, publications_left_out, asked_left_out } = traced
  if (all.length === 1) return null
  return (
    <nav class="row" aria-label="Its publications and questions">
      {all.map(({ decision: { id, source, at, decision } }) => (
        <Link
          key={id}
          to={['explain', record_id]}
          with={{ decision: id }}
          isCurrent={id === shown.decision.id}
          class="chip"
        >
          {source === 'record' ? 'published' : 'asked'} {localTime(new Date(at), now())}: {decision}
        </Link>
      ))}
      {(publications_left_out || asked_left_out) && (
        <Link to={['search']} with={{ record_id, source: 'any', since: 'ever' }}>
          all of them
        </Link>
      )}
    </nav>
  )
}

function ThenAndNow({ judged }: { readonly judged: Judged }) {
  const { decision, explained, missing } = judged
  const record = 'record' in judged ? judged.record : null
  const request = (record ?? questionOf(decision)) as DecisionRequest
  const today = useAnswer([decision.id], async (client) =>
    may('decide') ? client.decide(request, unservedOf(decision)) : null,
  )
  return (
    <>
      <EntryFacts entry={decision} />
      {missing !== null && <p class="quiet">{missing}</p>}
      <div class="split even">
        <section class="panel stack" aria-labelledby="then">
          <h2 id="then">As judged then</h2>
          {explained === null ? (
            <p class="quiet">It can't be explained any more. The log says: {decision.decision}.</p>
          ) : (
            <Explanation decision={explained} />
          )}
        </section>
        <section class="panel stack" aria-labelledby="now">
          <h2 id="now">Now</h2>
          <Answered answer={today}>
            {(present) =>
              present === null ? (
                <p class="quiet">
                  What is decided now needs a key with the right “decide”, which yours has not.
                </p>
              ) : (
                <>
                  <Compared then={explained} present={present} was={decision.decision} />
                  <Explanation decision={present} />
                </>
              )
            }
          </Answered>
        </section>
      </div>
      <NextSteps
        client={decision.client_ip}
        decision={today.data ?? explained ?? nothing}
        edgeId={decision.edge_id}
        request={withPlace(request, decision)}
      />
      {record !== null && <RecordText record={record} />}
    </>
  )
}

/** With what was known of the client then, so that a test of it does not depend on later databases. */
const withPlace = (request: DecisionRequest, { country, asn }: Judged['decision']): DecisionRequest =>
  ({ ...request, ...(country !== null && { country }), ...(asn !== null && { asn }) }) as DecisionRequest

/** In place of a decision that no one knows. */
const nothing: Decision = {
  decision: 'allow',
  ip_policy: null,
  policy: null,
  served: true,
  revision: 0,
  warnings: [],
}

interface ComparedProps {
  readonly was: Decision['decision']
  readonly then: Decision | null
  readonly present: Decision
}

function Compared({ was, then, present }: ComparedProps) {
  if (present.decision !== was)
    return (
      <p>
        <StateWord tone="warning" text={`other than then: ${was} became ${present.decision}`} />
      </p>
    )
  const isSame = then === null || deciderOf(then) === deciderOf(present)
  return (
    <p>
      <StateWord tone="quiet" text={isSame ? 'the same as then' : 'the same, but something else decides'} />
      {then !== null && then.revision !== present.revision && (
        <span class="quiet">, {number(present.revision - then.revision)} revisions later</span>
      )}
    </p>
  )
}

const deciderOf = ({ explanation }: Decision): string => {
  const { type, id, name, rule_id } = explanation?.decided_by ?? {}
  return JSON.stringify([type, id, name, rule_id])
}

const RecordText = ({ record }: { readonly record: Readonly<Record<string, unknown>> }) => (
  <details>
    <summary>The record as it was published</summary>
    <pre>{textOf(JSON.stringify(record, null, 2))}</pre>
  </details>
)
