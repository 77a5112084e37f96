import { messageOf } from '../errors.js'

/**
 * Makes text safe for a terminal. It may contain text from clients, whose escape sequences could hide lines or change
 * what is copied from the terminal.
 */
export const forTerminal = (text: string): string => text.replaceAll(/(?![\n\t])\p{Cc}/gu, '\uFFFD')

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
