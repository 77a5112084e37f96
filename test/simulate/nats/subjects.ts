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

/** Whether subjects match one of the patterns; all do if there is none. */
export function matchAny(patterns: readonly string[]): (subject: string) => boolean {
  const matchers = patterns.map(matcher)
  return (subject) => matchers.length === 0 || matchers.some((isMatch) => isMatch(subject))
}

const isPattern = (subject: string): boolean => subject.includes('*') || subject.endsWith('>')

function makeMatcher(pattern: string): (subject: string) => boolean {
  if (!isPattern(pattern)) return (subject) => subject === pattern
  const tokens = pattern.split('.').map((token) => {
    if (token === '>') return '.+'
    return token === '*' ? '[^.]+' : token.replaceAll(/[$^(){}[\]+?|\\]/g, '\\$&')
  })
  const expression = new RegExp(`^${tokens.join('\\.')}$`)
  return (subject) => expression.test(subject)
}

/** Can a subject match both? */
export function overlap(one: string, other: string): boolean {
  const [a, b] = [one.split('.'), other.split('.')]
  for (let n = 0; n < Math.max(a.length, b.length); n++) {
    if (a[n] === '>' || b[n] === '>') return a[n] !== undefined && b[n] !== undefined
    if (a[n] === undefined || b[n] === undefined) return false
    if (a[n] !== b[n] && a[n] !== '*' && b[n] !== '*') return false
  }
  return true
}
