/**
 * Times in sentences. Sentences carry whole RFC 3339 times in UTC, and are shown with local ones: the one who makes a
 * sentence does not know where it is read.
 */

const timeOrQuoted = /"(?:[^"\\]|\\.)*"|(?<![\w-])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z(?!\w)/g

/** Replaces the times of a sentence. What is quoted is a text of a user, or a value as it stands: it stays. */
export const withTimes = (sentence: string, format: (atMs: number) => string): string =>
  sentence.replaceAll(timeOrQuoted, (found) => {
    const atMs = found.startsWith('"') ? Number.NaN : Date.parse(found)
    return Number.isNaN(atMs) ? found : format(atMs)
  })

const two = (value: number): string => String(value).padStart(2, '0')

/** `2026-11-20 14:19:00` by the clock of the terminal, with a `Z` where that is UTC. */
function terminalTime(atMs: number): string {
  const at = new Date(atMs)
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')
  return `${day} ${time}${at.getTimezoneOffset() === 0 ? 'Z' : ''}`
}

/** A sentence as a command prints it. */
export const sentenceForTerminal = (sentence: string): string => withTimes(sentence, terminalTime)
