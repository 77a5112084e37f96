/**
 * Finds the one item for which a request is refused as a whole, by halves: a half that is accepted is done
 * with, a half that is refused holds the culprit, and its other half is set aside, to be sent with what comes
 * next. Among 512 items that takes ten requests at most, and one more for what was set aside.
 *
 * That a half was accepted does not prove the other half guilty: the whole may have been refused for its size, or
 * on a whim. So the last suspect is sent alone before it is called the culprit; if it is accepted, there is none.
 */
export type HalfResult =
  /** Every item of the half has been taken care of. */
  | 'accepted'
  /** Refused for an item of it, or as a whole. */
  | 'refused'
  /** Nothing can be said now: the search ends here. */
  | 'interrupted'

export interface Isolated<T> {
  /** Refused alone. Undefined when the search was interrupted, or when no single item is refused. */
  readonly culprit: T | undefined
  /** What is still to be sent. */
  readonly remaining: readonly T[]
}

/** `refused` is a request of which it is known that it is refused. */
export async function isolate<T>(
  refused: readonly T[],
  sendHalf: (half: readonly T[]) => Promise<HalfResult>,
): Promise<Isolated<T>> {
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
