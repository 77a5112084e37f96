/**
 * Text for a terminal. What clients wrote may stand in it, and a terminal obeys escape sequences: they could hide lines,
 * or change what is copied from it.
 */
export const forTerminal = (text: string): string => text.replaceAll(/(?![\n\t])\p{Cc}/gu, '\uFFFD')
