/** `GET /records/{record_id}` and `GET /records?event_id=`: what became of a record. */
import type { FastifyInstance } from 'fastify'
import type { LogMode } from '../../delivery/wire/log-publisher.js'
import { badRequest, notFound, shown } from '../../ground/core/errors.js'
import { recordIdCharsMax } from '../../ground/core/limits.js'
import { Type } from '../../ground/core/schema.js'
import { tracedRecordSchema } from '../../words/shape/traced-record.js'
import { readable } from '../exchange/rows.js'
import { type ApiContext, pathParams, queryOf, sendJson } from '../http/context.js'
import { onlyBlocked, onlyFailed } from '../http/missing-values.js'
import { describe } from '../http/openapi/openapi.js'
import type { RecordTracer } from '../insight/record-tracer.js'
import { decisionsTag } from './parts/tags.js'

const path = '/records'
const eventIdForm = /^ev_[0-9a-f]{48}$/

const common = { tag: decisionsTag.name, success: [200, tracedRecordSchema], atOnce: 'log_search' } as const

export function registerRecords(
  app: FastifyInstance,
  context: ApiContext,
  tracer: RecordTracer,
  mode: LogMode,
): void {
  const gap = (sentence: string): string => (mode === 'blocked' ? ` ${sentence}` : '')
  const traced = async (accountId: string, recordId: string) => {
    const found = await tracer.trace(readable(context), accountId, recordId)
    if (found !== undefined) return found
    throw notFound(`The record ${shown(recordId)} is not in the decision log.${gap(onlyBlocked)}`)
  }
  const byId = describe({
    ...common,
    operationId: 'get_record',
    summary: 'Trace a record: its decision, its events, and what became of them',
    path: `${path}/:record_id`,
  })
  app.get(`${path}/:record_id`, byId, async (request, reply) => {
    queryOf(request)
    const { record_id = '' } = pathParams(request)
    if ([...record_id].length > recordIdCharsMax)
      throw badRequest(`A record id has at most ${recordIdCharsMax} characters.`)
    return sendJson(reply, await traced(request.caller.accountId, record_id))
  })
  const byEvent = describe({
    ...common,
    operationId: 'find_record',
    summary: 'Trace the record that made an event',
    description: 'The event is found once it was sent to a destination, whether or not that accepted it.',
    path,
    query: Type.Object({ event_id: Type.String({ description: 'The id of a traffic event.' }) }),
  })
  app.get(path, byEvent, async (request, reply) => {
    const { event_id } = queryOf(request, ['event_id'])
    if (event_id === undefined) throw badRequest('The query parameter "event_id" is needed.')
    if (!eventIdForm.test(event_id))
      throw badRequest(
        `The query parameter "event_id" is ${shown(event_id)}: the id of a traffic event is needed, "ev_" and 48 hex digits.`,
      )
    const { accountId } = request.caller
    const recordId = await tracer.recordOf(accountId, event_id)
    if (recordId === undefined)
      throw notFound(`No record in the decision log made the event ${event_id}.${gap(onlyFailed)}`)
    return sendJson(reply, await traced(accountId, recordId))
  })
}
