/** Finds the event for which a whole request was refused. */
import type { Fault, SendAnswer, SendOutcome } from '../destination.js'
import type { Item } from '../job.js'
import { type HalfResult, type IsolationResult, isolate } from './isolate.js'

/** A fault after which sending again can help. */
export type PassingFault = Fault & { readonly class: 'throttle' | 'transient' }

export const isPassing = (fault: Fault): fault is PassingFault =>
  fault.class === 'throttle' || fault.class === 'transient'

interface SearchDeps {
  /** Sends a part of the request. */
  readonly send: (part: readonly Item[]) => Promise<SendOutcome>
  /** Handles the outcome of every item of a part that was answered. */
  readonly answered: (part: readonly Item[], answer: SendAnswer) => Promise<void>
  /** Resolves when the part may be sent again; false if the search must end. */
  readonly waitOut: (fault: PassingFault) => Promise<boolean>
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
  { answered, ...sending }: SearchDeps,
): Promise<SearchResult> {
  let lastFault = fault
  let interruption: Fault | undefined
  const isolated = await isolate(refused, async (part): Promise<HalfResult> => {
    const outcome = await sendPart(part, sending)
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

/** Waits out transient faults: a search that restarted at each of them might never end. */
async function sendPart(
  part: readonly Item[],
  { send, waitOut }: Pick<SearchDeps, 'send' | 'waitOut'>,
): Promise<SendOutcome> {
  for (;;) {
    for (const item of part) item.again()
    const outcome = await send(part)
    if (outcome.outcome !== 'failed' || !isPassing(outcome.fault)) return outcome
    if (!(await waitOut(outcome.fault))) return outcome
  }
}
