/**
 * Makes text safe for a terminal. It may contain text from clients, whose escape sequences could hide lines or change
 * what is copied from the terminal.
 */
export const forTerminal = (text: string): string => text.replaceAll(/(?![\n\t])\p{Cc}/gu, '\uFFFD')
