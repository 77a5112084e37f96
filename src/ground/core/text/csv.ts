/** Lines of CSV (RFC 4180) that spreadsheets open without calculating anything. */

/**
 * A text that begins like this is a formula to spreadsheets, with wide characters in some languages; so is one after a
 * separator: where `,` is the decimal sign, programs split lines at `;`, and heed quotes only where such a cell begins.
 * Apostrophes before it count, too: one more is always added, so that the text can be read back.
 */
const start = "[' ]*[=+\\-@\uff1d\uff0b\uff0d\uff20]"
const blank = "[' ]*[\\t\\r\\n]"
const formula = new RegExp(`(^|[;|\\t\\r\\n])(?=${start})`, 'g')
const marked = new RegExp(`(^|[;|\\t\\r\\n])'(?=${start})`, 'g')
const blankFirst = new RegExp(`^(?=${blank})`)
const markedBlank = new RegExp(`^'(?=${blank})`)
const toQuote = /[",\r\n]/

/** Null is an empty cell; what could be a formula gets an apostrophe before it. */
export const csvLine = (values: readonly (string | number | null)[]): string => values.map(cellOf).join(',')

function cellOf(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = value.replaceAll(formula, "$1'").replace(blankFirst, "'")
  return toQuote.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The text of a cell that `csvLine` wrote. */
export const withoutCsvMarks = (cell: string): string =>
  cell.replace(markedBlank, '').replaceAll(marked, '$1')
