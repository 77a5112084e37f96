/** What decided, or must decide, in words: `traffic_policy, name nobody`; empty if nothing is said. */
export const partInWords = (part: object | null | undefined): string =>
  Object.entries(part ?? {})
    .filter(([, value]) => typeof value === 'string')
    .map(([name, value]) => (name === 'type' ? value : `${name} ${value}`))
    .join(', ')

/** A decision and what decided, as an expectation has them: `deny by traffic_policy, name nobody`. */
export function decisionInWords(decision: string | null, part: object | null | undefined): string {
  const by = partInWords(part)
  return by === '' ? `${decision}` : `${decision} by ${by}`
}
