/** How much a value holds: characters of its texts, bytes of its buffers, its members. */
const itemsMax = 5_000_000

export function weightOf(value: unknown): number {
  let weight = 0
  const seen = new Set<object>()
  const waiting: unknown[] = [value]
  while (waiting.length > 0 && weight < itemsMax) {
    const next = waiting.pop()
    weight += 1
    if (typeof next === 'string') weight += next.length
    else if (ArrayBuffer.isView(next)) weight += next.byteLength
    else if (typeof next === 'object' && next !== null && !seen.has(next)) {
      seen.add(next)
      for (const [name, member] of membersOf(next)) {
        weight += name.length
        waiting.push(member)
      }
    }
  }
  return weight
}

const membersOf = (value: object): readonly (readonly [string, unknown])[] =>
  value instanceof Map || value instanceof Set
    ? [...value].flatMap((entry) => [['', entry] as const])
    : Object.entries(value)
