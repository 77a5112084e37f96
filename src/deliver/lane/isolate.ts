/**
 * Finds the one item for which a whole request is refused, by halving. An accepted half is done. A refused half contains
 * the culprit; the other half is set aside and sent with later events. Among 512 items, this takes at most ten requests,
 * among 2,000 twelve, and one more for the items that were set aside.
 *
 * An accepted half does not prove that the other half is at fault: the whole may have been refused for its size, or by
 * chance. So the last suspect is sent alone. If it is accepted, there is no culprit.
 */
export type HalfResult =
  /** Every item of the half has its outcome. */
  | 'accepted'
  /** Refused for one of its items, or as a whole. */
  | 'refused'
  /** Another fault: the search ends here. */
  | 'interrupted'

export interface IsolationResult<T> {
  /** Refused alone. Undefined if the search was interrupted, or if no single item is refused. */
  readonly culprit: T | undefined
  /** Still to be sent. */
  readonly remaining: readonly T[]
}

/** `refused`: a request that was refused. */
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
