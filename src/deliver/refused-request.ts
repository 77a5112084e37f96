/** Finds the event for which a whole request was refused. */
import type { Fault, SendAnswer, SendOutcome } from './destination.js'
import { type HalfResult, type IsolationResult, isolate } from './isolate.js'
import type { Item } from './job.js'

interface SearchDeps {
  /** Sends a part of the request. */
  readonly send: (part: readonly Item[]) => Promise<SendOutcome>
  /** Handles the outcome of every item of a part that was answered. */
  readonly answered: (part: readonly Item[], answer: SendAnswer) => Promise<void>
}

interface SearchResult extends IsolationResult<Item> {
  /** Why the culprit was refused alone. */
  readonly fault: Fault
  /** A fault of another kind that ended the search. */
  readonly interruption: Fault | undefined
}

export async function findRefused(
  refused: readonly Item[],
  fault: Fault,
  { send, answered }: SearchDeps,
): Promise<SearchResult> {
  let lastFault = fault
  let interruption: Fault | undefined
  const isolated = await isolate(refused, async (part): Promise<HalfResult> => {
    const outcome = await send(part)
    if (outcome.outcome !== 'failed') {
      await answered(part, outcome)
      return 'accepted'
    }
    if (outcome.fault.class === 'poison') {
      lastFault = outcome.fault
      return 'refused'
    }
    interruption = outcome.fault
    return 'interrupted'
  })
  return { ...isolated, fault: lastFault, interruption }
}
