/** Decisions of the log as NDJSON or CSV: all pages in one answer. */
import type { FastifyRequest } from 'fastify'
import { ClientGone, WeirError } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { type DecisionFormat, decisionFormats } from '../../words/shape/decisions/decision-formats.js'
import { acceptedType } from '../exchange/accepted-forms.js'
import { reportFault } from '../http/refused-requests.js'
import { shownDecisions } from '../insight/shown-decision.js'
import type { LogReader } from '../store/logs/log-reader.js'
import type { LogPosition } from '../store/logs/log-windows.js'

type Page = Awaited<ReturnType<LogReader['page']>>

/** A page of at most `limit` decisions after a place in the list. */
export type ReadPage = (limit: number, before?: LogPosition) => Promise<Page>

const rowsAtOnce = 1_000
const formats = Object.values(decisionFormats)

export const exportTypes = formats.map(({ mediaType }) => mediaType)

/** The format that the client prefers to JSON. */
export function formatFor({ headers }: FastifyRequest): DecisionFormat | undefined {
  const type = acceptedType(headers.accept, ['application/json', ...exportTypes])
  return formats.find(({ mediaType }) => mediaType === type)
}

interface ExportOptions {
  readonly format: DecisionFormat
  readonly limit: number
  readonly read: ReadPage
  readonly occurrences: Occurrences
}

/** The text of an answer. Rejects if the first page can't be read, like any other request. */
export async function exportOf(
  request: FastifyRequest,
  options: ExportOptions,
): Promise<AsyncIterable<string>> {
  const { format, limit, read } = options
  const first = await read(Math.min(limit, rowsAtOnce))
  const textOf = (lines: readonly string[]): string => lines.map((each) => each + format.lineBreak).join('')
  async function* text() {
    if (format.head.length > 0) yield textOf(format.head)
    for await (const decisions of pagesFrom(first, request, options)) yield textOf(decisions.map(format.line))
  }
  return text()
}

async function* pagesFrom(first: Page, request: FastifyRequest, { limit, read, occurrences }: ExportOptions) {
  let left = limit
  for (let page = first; ; ) {
    const decisions = shownDecisions(page.rows)
    if (decisions.length > 0) yield decisions
    left -= decisions.length
    const { next } = page
    if (next === undefined || left <= 0) return
    const readNext = () => read(Math.min(left, rowsAtOnce), next)
    try {
      page = await (request.work === undefined ? readNext() : request.work.run(readNext))
    } catch (error) {
      if (error instanceof WeirError) reportFault(occurrences, error, request)
      if (error instanceof ClientGone) return
      throw error
    }
  }
}
