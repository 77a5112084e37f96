/**
 * Records that a challenger decides differently, each with both explanations: made again from the record, as it was decided
 * then.
 */

import type { DecisionRow } from '../../delivery/wire/decision-rows.js'
import { WeirError } from '../../ground/core/errors.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { ChallengerRow } from '../../judging/evaluate/challenger.js'
import type { ChallengerExample } from '../../words/shape/challenger-difference.js'
import type { Decision } from '../../words/shape/decisions/decision.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Decider } from './decider.js'
import { shownDecision } from './shown-decision.js'
import { recordGone, storedRecord } from './stored-record.js'

interface ExampleParts {
  readonly nats: Pick<Nats, 'messageAt'>
  readonly decider: Pick<Decider, 'decide' | 'challenged'>
}

type Explained = Omit<ChallengerExample, 'decision'>

const unlike =
  'With the configuration of then, as far as it is known, the record is decided otherwise than it was.'

export async function challengerExamples(
  parts: ExampleParts,
  state: ViewState,
  challenger: ChallengerRow,
  rows: readonly DecisionRow[],
): Promise<ChallengerExample[]> {
  const examples: ChallengerExample[] = []
  for (const row of rows)
    examples.push({
      decision: shownDecision(row),
      ...(await explained(parts, state, challenger, row)),
    })
  return examples
}

async function explained(
  { nats, decider }: ExampleParts,
  state: ViewState,
  challenger: ChallengerRow,
  row: DecisionRow,
): Promise<Explained> {
  const stored = await storedRecord(nats, row)
  if (stored === undefined) return { before: null, after: null, missing: recordGone }
  const { record } = stored
  const moment = { revision: row.revision, atMs: row.at }
  try {
    const asked = { record, explain: true }
    const live = await decider.decide(state, row.accountId, asked, {
      ...moment,
      phase: 'closed',
      unserved: 'allow',
    })
    const before = judged(live.answer)
    const after = judged(await decider.challenged(state, challenger, record, moment))
    const isSame = before.decision === row.decision && after.decision === row.challengerDecision
    return { before, after, missing: isSame ? null : unlike }
  } catch (error) {
    // The configuration of then may be unknown or too large.
    if (!(error instanceof WeirError) || error.code === 'ERR_UNAVAILABLE') throw error
    return { before: null, after: null, missing: error.message }
  }
}

const judged = ({ decision, explanation }: Pick<Decision, 'decision' | 'explanation'>) => ({
  decision,
  explanation: explanation!,
})
