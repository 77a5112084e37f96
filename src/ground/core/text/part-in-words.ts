/** The part that decided, or must decide, in words: `traffic_policy, name nobody`; empty if nothing is said. */
const partInWords = (part: object | null | undefined): string =>
  Object.entries(part ?? {})
    .filter(([, value]) => typeof value === 'string')
    .map(([name, value]) => (name === 'type' ? value : `${name} ${value}`))
    .join(', ')

interface Decided {
  readonly decision: string | null
  readonly decided_by?: object | null | undefined
  /** The decision if everything were enforced. */
  readonly shadow?: Omit<Decided, 'shadow'> | null | undefined
}

/**
 * A decision and what decided, as an expectation has them: `deny by traffic_policy, name nobody`; with its shadow,
 * `allow (if all were enforced: deny)`.
 */
export function decisionInWords({ decision, decided_by, shadow }: Decided): string {
  const by = partInWords(decided_by)
  const live = by === '' ? `${decision}` : `${decision} by ${by}`
  return shadow ? `${live} (if all were enforced: ${decisionInWords(shadow)})` : live
}
