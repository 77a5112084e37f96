/** `GET /decisions`: decisions of the log, newest first. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, shown } from '../../ground/core/errors.js'
import { pageEntriesMax } from '../../ground/core/limits.js'
import { Type } from '../../ground/core/schema.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { loggedDecisionExample, loggedDecisionSchema } from '../../words/shape/decisions/logged-decision.js'
import { limitOf, queryText, timeOf, timeParameters, withFixedTimes } from '../exchange/query-values.js'
import { type ApiContext, queryOf, sendJson } from '../http/context.js'
import { onlyBlocked, usesIn, warnOfGaps } from '../http/missing-values.js'
import { exampleLinks } from '../http/openapi/examples.js'
import { describe, filterParameter, listSchema, shownBy } from '../http/openapi/openapi.js'
import { StreamedAnswers } from '../http/streamed-answers.js'
import { compileDecisionFilter } from '../insight/decision-filter.js'
import { decisionIdOf, shownDecision, shownDecisions } from '../insight/shown-decision.js'
import type { LogReader, PageQuery } from '../store/logs/log-reader.js'
import type { DecisionsQuery, LogPosition } from '../store/logs/log-windows.js'
import type { RowTime } from '../store/logs/row-times.js'
import { exportOf, exportTypes, formatFor, type ReadPage } from './decision-export.js'
import {
  checkSelectedIds,
  type Query,
  rowTimeIn,
  selectingParameters,
  selectingSchema,
  selectingUses,
  selectionIn,
  timeParameter,
} from './parts/decision-parameters.js'
import { decisionsTag } from './parts/tags.js'

/** Decisions in one answer as NDJSON or CSV. */
const decisionsExportedMax = 100_000
/** How long a client may take for these. */
const exportMsMax = 60_000

const path = '/decisions'

const parameters = ['limit', 'before_id', 'since', 'until', 'time', 'filter', ...selectingParameters]

const querySchema = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: decisionsExportedMax,
      description: `The maximum number of entries: up to ${pageEntriesMax} in a page of JSON, which is the default, and up to ${decisionsExportedMax} in NDJSON and CSV, which is theirs.`,
    }),
  ),
  before_id: Type.Optional(Type.String({ description: 'Decisions older than this one.' })),
  ...timeParameters,
  time: timeParameter,
  filter: filterParameter,
  ...selectingSchema,
})

const pageSchema = shownBy(listSchema('decisions', loggedDecisionSchema, 'LoggedDecisionList'), {
  decisions: [loggedDecisionExample],
  uri: exampleLinks.uri(path),
  next_page_uri: null,
})

export function registerLoggedDecisions(
  app: FastifyInstance,
  context: ApiContext,
  log: Pick<LogReader, 'page' | 'ownTimeAt' | 'mode'>,
  occurrences: Occurrences,
): void {
  const answers = new StreamedAnswers(app, exportMsMax)
  const described = describe({
    operationId: 'list_decisions',
    atOnce: 'log_search',
    summary: 'List decisions of the log',
    description:
      'What was decided about records, and for ingress nodes and proxies that asked, within the retention. A page may have fewer entries than `limit` and a next page. As NDJSON or CSV (`Accept`), all pages come in one answer, which breaks off if it cannot be completed.',
    tag: decisionsTag.name,
    path,
    success: [200, pageSchema],
    otherForms: Object.fromEntries(exportTypes.map((type) => [type, Type.String()])),
    query: querySchema,
    warns: true,
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, parameters)
    reply.header('Vary', 'Accept')
    const format = formatFor(request)
    const limit = limitOf(query['limit'], format && decisionsExportedMax)
    const { names, ...search } = searchOf(query['filter'])
    const asked = { ...(await askedFor(request, query, log)), ...search }
    await checkSelectedIds(context, asked.accountId, query)
    const uses = [...selectingUses(query), ...usesIn('filter', names)]
    const isCut = log.mode === 'blocked' && asked.values['decision']?.includes('allow') !== false
    warnOfGaps(reply, context, uses, isCut ? [onlyBlocked] : [])
    if (format !== undefined) {
      const read: ReadPage = (limit, before = asked.before) => log.page({ ...asked, limit, before })
      const text = await exportOf(request, { format, limit, read, occurrences })
      return answers.send(reply, format.mediaType, text)
    }
    const found = await log.page({ ...asked, limit })
    const decisions = shownDecisions(found.rows)
    const uri = context.presenter.links.uri(path)
    const { next: last } = found
    const next =
      last &&
      queryText({ ...withFixedTimes(query), limit: String(limit), before_id: placeIn(asked.time, last) })
    return sendJson(reply, {
      decisions,
      uri,
      next_page_uri: next === undefined ? null : `${uri}?${next}`,
    })
  })
}

/** The values that ClickHouse looks for, and the filter that decides. */
function searchOf(
  text: string | undefined,
): Pick<PageQuery, 'condition' | 'matches'> & { readonly names: readonly string[] } {
  if (text === undefined) return { names: [] }
  const { matches, ...others } = compileDecisionFilter(text)
  return { ...others, matches: (row) => matches(shownDecision(row)) }
}

async function askedFor(
  request: FastifyRequest,
  query: Query,
  log: Pick<LogReader, 'ownTimeAt'>,
): Promise<Omit<DecisionsQuery, 'limit'> & { readonly time: RowTime }> {
  const { accountId } = request.caller
  const time = rowTimeIn(query)
  const before = positionOf(query['before_id'])
  return {
    accountId,
    time,
    ...selectionIn(query),
    sinceMs: timeOf('since', query['since']),
    untilMs: timeOf('until', query['until']),
    before: before && time === 'own' ? await withOwnTime(log, accountId, before) : before,
  }
}

/** A place in a list by own times. An address of a next page has its own time, the id of a decision has not. */
async function withOwnTime(
  log: Pick<LogReader, 'ownTimeAt'>,
  accountId: string,
  before: LogPosition,
): Promise<LogPosition> {
  const ownAt = before.ownAt ?? (await log.ownTimeAt(accountId, before))
  if (ownAt === undefined)
    throw badRequest('The query parameter "before_id" names a decision that is not in the log.')
  return { ...before, ownAt }
}

/** The `before_id` of a next page. */
const placeIn = (time: RowTime, row: LogPosition): string =>
  time === 'own' ? `${row.at}-${row.sequence}-${row.line}-${row.partition}-${row.ownAt}` : decisionIdOf(row)

function positionOf(text: string | undefined): LogPosition | undefined {
  if (text === undefined) return undefined
  const [, at, sequence, line, partition = 0, own] =
    /^(\d{1,15})-(\d{1,15})-(\d{1,9})(?:-(\d{1,2})(?:-(\d{1,15}))?)?$/.exec(text) ?? []
  if (line !== undefined)
    return {
      at: Number(at),
      sequence: Number(sequence),
      line: Number(line),
      partition: Number(partition),
      ...(own !== undefined && { ownAt: Number(own) }),
    }
  throw badRequest(
    `The query parameter "before_id" is ${shown(text)}: the "id" of a decision in this list is needed.`,
  )
}
