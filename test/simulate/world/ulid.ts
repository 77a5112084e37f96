/**
 * Stands in the place of the package `ulid` in the simulation's build, whose ids depend on those before: of each world, they are
 * the same whichever worlds were before it in the process. https://github.com/ulid/spec
 */
const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const timeLetters = 10
const randomLetters = 16

let last: { readonly ms: number; readonly random: readonly number[] } | undefined

/** From now on ids of a new world. */
export function forgetIds(): void {
  last = undefined
}

/** Ids that increase, also within a millisecond. */
export const monotonicFactory =
  (next: () => number) =>
  (ms: number): string => {
    last =
      last !== undefined && ms <= last.ms
        ? { ms: last.ms, random: increased(last.random) }
        : { ms, random: Array.from({ length: randomLetters }, () => Math.floor(next() * letters.length)) }
    return timeText(last.ms) + last.random.map((value) => letters[value]).join('')
  }

function increased(random: readonly number[]): number[] {
  const next = [...random]
  for (let at = next.length - 1; at >= 0; at--) {
    next[at] = (next[at]! + 1) % letters.length
    if (next[at] !== 0) break
  }
  return next
}

function timeText(ms: number): string {
  let text = ''
  for (let left = ms; text.length < timeLetters; left = Math.floor(left / letters.length))
    text = letters[left % letters.length] + text
  return text
}
