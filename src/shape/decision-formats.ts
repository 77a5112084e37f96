/** Decisions of the log as lines of text. */
import { csvLine } from '../core/text/csv.js'
import { type LoggedDecision, loggedDecisionExample } from './logged-decision.js'

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
