/** Decisions of the log as lines of text. */
import { isObject } from '../../../ground/core/json-object.js'
import { csvLine } from '../../../ground/core/text/csv.js'
import { type LoggedDecision, loggedDecisionExample } from './logged-decision.js'

export interface DecisionFormat {
  readonly mediaType: string
  /** Lines before the first decision. */
  readonly head: readonly string[]
  readonly lineBreak: string
  readonly line: (decision: LoggedDecision) => string
}

type FormatName = 'ndjson' | 'csv'

/** Names of members, as filters spell them. Every decision has all of them, or none of an object that is null. */
const columnsOf = (example: object, prefix = ''): string[] =>
  Object.entries(example).flatMap(([name, value]) =>
    isObject(value) ? columnsOf(value, `${prefix}${name}.`) : [`${prefix}${name}`],
  )

const columns = columnsOf(loggedDecisionExample)
const paths = columns.map((name) => name.split('.'))

const cellsOf = (decision: LoggedDecision) =>
  paths.map((path) => {
    let value: unknown = decision
    for (const name of path) value = isObject(value) ? value[name] : null
    return value as string | number | null
  })

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
