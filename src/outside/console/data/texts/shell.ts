/** Commands to copy into a terminal. */

/**
 * The text as one argument of a POSIX shell. Control characters are left out: a terminal may act on them when the command is
 * pasted, before the shell sees the quotes. Ctrl-C, for example, drops what stands before it and makes the rest a command of
 * its own.
 */
export function shellArgument(text: string): string {
  const printable = text
    .replaceAll(/[\t\n\v\f\r\u2028\u2029]+/g, ' ')
    .replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '')
  return /^[\w./:,-]+$/.test(printable) ? printable : `'${printable.replaceAll("'", `'\\''`)}'`
}
