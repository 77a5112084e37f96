/** Decisions of the log as lines of text. */
import { type LoggedDecision, loggedDecisionExample } from './logged-decision.js'

/** A cell that begins with one of these is a formula to spreadsheets, or may become one when it is split again. */
const formula = /^[=+\-@\t\r]/
const toQuote = /[",\r\n]/

/**
 * Lines of CSV (RFC 4180) that spreadsheets open without calculating anything, without line breaks. Null is an empty
 * cell; a text that could be a formula gets an apostrophe before it.
 */
export const csvLine = (values: readonly (string | number | null)[]): string => values.map(cellOf).join(',')

function cellOf(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = formula.test(value) ? `'${value}` : value
  return toQuote.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export interface DecisionFormat {
  readonly mediaType: string
  /** Lines before the first decision. */
  readonly head: readonly string[]
  readonly lineBreak: string
  readonly line: (decision: LoggedDecision) => string
}

type FormatName = 'ndjson' | 'csv'

/** Names of members, as filters spell them. Every decision has all of them. */
const columns = Object.entries(loggedDecisionExample).flatMap(([name, value]) =>
  typeof value === 'object' && value !== null
    ? Object.keys(value).map((member) => `${name}.${member}`)
    : [name],
)

function cellsOf({ decided_by, ...rest }: LoggedDecision) {
  const decidedBy = Object.entries(decided_by).map(([name, value]) => [`decided_by.${name}`, value])
  const values = { ...rest, ...Object.fromEntries(decidedBy) }
  return columns.map((name) => values[name])
}

export const decisionFormats: Readonly<Record<FormatName, DecisionFormat>> = {
  ndjson: {
    mediaType: 'application/x-ndjson',
    head: [],
    lineBreak: '\n',
    line: (decision) => JSON.stringify(decision),
  },
  csv: {
    mediaType: 'text/csv',
    head: [csvLine(columns)],
    lineBreak: '\r\n',
    line: (decision) => csvLine(cellsOf(decision)),
  },
}
