/** What decided, or must decide, in words: `traffic_policy, name nobody`; empty if nothing is said. */
export const partInWords = (part: object | null | undefined): string =>
  Object.entries(part ?? {})
    .filter(([, value]) => typeof value === 'string')
    .map(([name, value]) => (name === 'type' ? value : `${name} ${value}`))
    .join(', ')
