/** Lines of CSV (RFC 4180) that spreadsheets open without calculating anything. */

/** A cell that begins with one of these is a formula to spreadsheets, or may become one when it is split again. */
const formula = /^[=+\-@\t\r]/
const toQuote = /[",\r\n]/

/** Without its line break. Null is an empty cell; a text that could be a formula gets an apostrophe before it. */
export const csvLine = (values: readonly (string | number | null)[]): string => values.map(cellOf).join(',')

function cellOf(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = formula.test(value) ? `'${value}` : value
  return toQuote.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
