import { messageOf } from '../errors.js'

/** Controls of a terminal, and of the direction of text. */
const controls = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/**
 * Makes text safe for a terminal. It may contain text from clients, whose escape sequences could hide lines or change
 * what is copied from the terminal.
 */
export const forTerminal = (text: string): string => text.replaceAll(controls, '\uFFFD')

/** The JSON of a value, in which the same is escaped: it stays as it was. */
export const jsonForTerminal = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    controls,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** An error with more about it: of a list with many wrong entries, a sentence for each by its place. */
interface Detailed {
  readonly details: Readonly<Record<string, string>>
}

const isDetailed = (error: unknown): error is Detailed =>
  typeof error === 'object' && error !== null && 'details' in error

/** An error as a command prints it: the message, and a line for each detail. */
export function errorText(error: unknown): string {
  const { operation_id: _, ...details } = isDetailed(error) ? error.details : {}
  const lines = Object.entries(details).map(([place, sentence]) =>
    sentence.startsWith(`"${place}`) ? `  ${sentence}` : `  ${place}: ${sentence}`,
  )
  return forTerminal([`weir: ${messageOf(error)}`, ...lines].join('\n'))
}
