/** Finds the event for which a whole request was refused. */
import type { Fault } from '../../outgoing/fault-class.js'
import type { SendAnswer, SendOutcome } from '../kind/sender.js'
import type { Item } from './job.js'

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

export type HalfResult =
  /** Every item of the half has its outcome. */
  | 'accepted'
  /** Refused for one of its items, or as a whole. */
  | 'refused'
  /** Another fault: the search ends here. */
  | 'interrupted'

interface IsolationResult<T> {
  /** Refused alone. Undefined if the search was interrupted, or if no single item is refused. */
  readonly culprit: T | undefined
  /** Still to be sent. */
  readonly remaining: readonly T[]
}

/**
 * Finds the one item for which a whole request is refused, by halving. An accepted half is done. A refused half contains
 * the culprit; the other half is set aside and sent with later events. Among 512 items, this takes at most ten requests,
 * among 2,000 twelve, and one more for the items that were set aside.
 *
 * An accepted half does not prove that the other half is at fault: the whole may have been refused for its size, or by
 * chance. So the last suspect is sent alone. If it is accepted, there is no culprit.
 *
 * `refused`: a request that was refused.
 */
export async function isolate<T>(
  refused: readonly T[],
  sendHalf: (half: readonly T[]) => Promise<HalfResult>,
): Promise<IsolationResult<T>> {
  let suspects = refused
  let isKnownRefused = true
  const aside: T[] = []
  while (suspects.length > (isKnownRefused ? 1 : 0)) {
    const middle = Math.ceil(suspects.length / 2)
    const [half, other] = [suspects.slice(0, middle), suspects.slice(middle)]
    const result = await sendHalf(half)
    if (result === 'interrupted') return { culprit: undefined, remaining: [...suspects, ...aside] }
    isKnownRefused = result === 'refused'
    if (isKnownRefused) aside.unshift(...other)
    suspects = isKnownRefused ? half : other
  }
  return { culprit: suspects[0], remaining: aside }
}
