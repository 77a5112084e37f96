/** The table of attributes of OpenTelemetry in `docs/ingress.md`. */

import { headerAttributes, mappedAttributes } from '../../src/delivery/ingest/otlp/log-records.js'
import { table } from '../../src/words/event/markdown.js'

const code = (text: string): string => `\`${text}\``

interface Mapped {
  readonly field: string
  readonly from: readonly string[]
  readonly note?: string
}

const rows = Object.values<Mapped>(mappedAttributes).map(({ field, from, note }) => [
  code(field),
  [from.map(code).join(', else '), ...(note === undefined ? [] : [note])].join('; '),
])

const headerRows = Object.values(headerAttributes).map(({ field, prefix }) => [
  code(field),
  `${code(`${prefix}<name>`)}; only of the log record itself`,
])

export const attributeTables = {
  attributes: () => table(['Field of the record', 'Attributes'], [...rows, ...headerRows]),
}
