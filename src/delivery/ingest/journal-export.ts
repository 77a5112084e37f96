/**
 * The output of `journalctl -o export` (systemd: Journal Export Format): the fields of an entry in lines, and an empty line
 * behind it. Where binary fields are, the splitter of lines knows (`ingest/lines/export-fields.ts`): each is one line here.
 */
import { beginsEntry, fieldIn } from './lines/export-fields.js'
import type { FramedLine } from './lines/format.js'
import type { RawLine } from './lines/line-splitter.js'

const times: readonly string[] = ['_SOURCE_REALTIME_TIMESTAMP', '__REALTIME_TIMESTAMP']

interface Entry<L> {
  readonly first: L
  /** If it is binary and its contents did not come, the line with its name, so that it is refused, not missing. */
  message?: L
  readonly fields: Record<string, string>
}

/**
 * In microseconds. The first is when the program logged, which `journalctl` shows, too; the second, when the journal got it.
 */
export function journalTime(fields: Readonly<Record<string, unknown>>): string {
  const micros = String(fields['_SOURCE_REALTIME_TIMESTAMP'] ?? fields['__REALTIME_TIMESTAMP'])
  return `${micros.slice(0, -6)}.${micros.slice(-6)}`
}

/** Without the line break that a program may log with it. */
export const messageOf = (value: string): string => value.replace(/\r?\n$/, '')

export class JournalExport<L extends RawLine> {
  #entry: Entry<L> | undefined

  get isWaiting(): boolean {
    return this.#entry !== undefined
  }

  /** Is the line of an entry? And the message of an entry that ends with it, or before it, if there is one. */
  add(line: L): { readonly isTaken: boolean; readonly ended: readonly (L & FramedLine)[] } {
    const isBinary = line.fieldLines !== undefined
    if (!isBinary && beginsEntry(line.text)) {
      const ended = this.rest()
      this.#entry = { first: line, fields: {} }
      return { isTaken: true, ended }
    }
    const entry = this.#entry
    if (entry === undefined) return { isTaken: false, ended: [] }
    const field = fieldIn(line.text)
    // A line of a log that follows one that looks like the beginning of an entry is not lost.
    if (field === undefined) return { isTaken: line.text === '', ended: this.rest() }
    const { name, value } = field
    if (name === 'MESSAGE')
      entry.message = { ...line, text: value === undefined ? line.text : messageOf(value) }
    else if (times.includes(name) && value !== undefined) entry.fields[name] = value
    return { isTaken: true, ended: [] }
  }

  /** The message of an entry when no more lines come. */
  rest(): readonly (L & FramedLine)[] {
    const entry = this.#entry
    this.#entry = undefined
    if (entry?.message === undefined) return []
    const { first, message, fields } = entry
    return [{ ...first, text: message.text, isTooLong: message.isTooLong, loggedAt: journalTime(fields) }]
  }
}
