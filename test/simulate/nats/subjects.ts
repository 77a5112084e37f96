/** Subjects and their patterns: `*` stands for a token, `>` for all that follow. */

const compiled = new Map<string, (subject: string) => boolean>()
/** Inboxes are new for each seed. */
const compiledMax = 10_000

/** Whether subjects match the pattern. */
export function matcher(pattern: string): (subject: string) => boolean {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  if (compiled.size === compiledMax) compiled.clear()
  const made = makeMatcher(pattern)
  compiled.set(pattern, made)
  return made
}

const isPattern = (subject: string): boolean => subject.includes('*') || subject.endsWith('>')

function makeMatcher(pattern: string): (subject: string) => boolean {
  if (!isPattern(pattern)) return (subject) => subject === pattern
  const tokens = pattern.split('.')
  const takesRest = tokens.at(-1) === '>'
  const head = takesRest ? tokens.slice(0, -1) : tokens
  return (subject) => {
    const parts = subject.split('.')
    if (takesRest ? parts.length <= head.length : parts.length !== head.length) return false
    return head.every((token, n) => token === '*' || token === parts[n])
  }
}
