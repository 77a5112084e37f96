/**
 * How programs write the bytes of a text that could be mistaken for something else. All of them escape bytes, not
 * characters, so a run of escapes is put together before it is read as UTF-8; bytes that are not UTF-8 become U+FFFD,
 * because a record is JSON, which has no others.
 */

const utf8 = (hex: string): string => Buffer.from(hex, 'hex').toString()

/** Apache's short escapes; nginx writes these as `\x0A`. */
const letters: Readonly<Record<string, string>> = { b: '\b', n: '\n', r: '\r', t: '\t', v: '\v' }

/** nginx's `\x22` and Apache's `\"`, `\\`, `\n`, `\xc3`: no text means something else to the other one. */
export const withoutBackslashes = (text: string): string =>
  text.replace(/(?:\\x[\dA-Fa-f]{2})+|\\(.)/gs, (run, char: string | undefined) =>
    char === undefined ? utf8(run.replaceAll('\\x', '')) : (letters[char] ?? char),
  )

/** HAProxy's `#22`. A backslash is a character like others there. */
export const withoutHashes = (text: string): string =>
  text.replace(/(?:#[\dA-F]{2})+/g, (run) => utf8(run.replaceAll('#', '')))

const isJsonWithBytes = /^(?:[^\\]|\\x[\dA-F]{2})*$/
const byteRuns = /(?:\\x[\dA-F]{2})+/g

const jsonOfRun = (run: string): string => JSON.stringify(utf8(run.replaceAll('\\x', ''))).slice(1, -1)

const hasBytes = (line: string): boolean => line.includes('\\x') && isJsonWithBytes.test(line)

/**
 * A line that nginx wrote in the form of JSON, but with the escapes of its other formats (`log_format` without
 * `escape=json`): JSON has no `\x`. Such a line has no other backslash, and a line in JSON proper never has `\x` behind an
 * even number of them, so it is clear which one it is.
 */
export const jsonOfBytes = (line: string): string =>
  hasBytes(line) ? line.replace(byteRuns, jsonOfRun) : line

/** The column in the line as it was written, from the one in what `jsonOfBytes` made of it; of a run, where it begins. */
export function columnAsWritten(line: string, column: number): number {
  let [made, written] = [0, 0]
  for (const { 0: run, index } of hasBytes(line) ? line.matchAll(byteRuns) : []) {
    const runStart = made + index - written
    if (column <= runStart) break
    made = runStart + jsonOfRun(run).length
    if (column <= made) return index + 1
    written = index + run.length
  }
  return written + column - made
}
