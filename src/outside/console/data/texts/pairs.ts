/** Maps as text for a field: `name: value` in each line. Null, in a map of secrets, stands for the value that is stored. */

type PairsByName = Readonly<Record<string, string | null>>

const storedMark = '(stored)'

export const linesOfPairs = (pairs: Readonly<Record<string, string | null | undefined>>): string =>
  Object.entries(pairs)
    .map(([name, each]) => `${name}: ${each ?? storedMark}`)
    .join('\n')

export function pairsInLines(lines: string): PairsByName {
  const pairs = lines
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const colon = line.indexOf(':')
      const [name, text] =
        colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
      return [name, text === storedMark ? null : text] as const
    })
  return Object.fromEntries(pairs)
}
