/** `GET /live`: decisions, deliveries or dead letters of the caller's account as they happen, as server-sent events. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest } from '../../ground/core/errors.js'
import { type Static, type TSchema, Type } from '../../ground/core/schema.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import { queryExpressionSchema } from '../../words/resource/fields/expression-schema.js'
import { anyResource } from '../../words/resource/kind/define.js'
import {
  type LoggedDecision,
  loggedDecisionExample,
  loggedDecisionSchema,
} from '../../words/shape/decisions/logged-decision.js'
import { liveDeadLetterSchema, liveDeliverySchema } from '../../words/shape/live.js'
import { compileSchemaFilter } from '../exchange/list-filter.js'
import { checkPresent, edgeResources } from '../exchange/query-values.js'
import { readable, rowOf } from '../exchange/rows.js'
import { type ApiContext, isTrueIn, queryOf } from '../http/context.js'
import { type Use, usesIn, warnOfGaps } from '../http/missing-values.js'
import { filterParameter, gapWarning } from '../http/openapi/openapi.js'
import { compileDecisionFilter } from '../insight/decision-filter.js'
import type { Live } from '../insight/live.js'
import { stream, type Watch } from './parts/live-stream.js'
import { decisionsTag } from './parts/tags.js'

const path = '/live'
const everything = (): boolean => true

const linesSchema = Type.Union([loggedDecisionSchema, liveDeliverySchema, liveDeadLetterSchema], {
  examples: [loggedDecisionExample],
})

const description = `Each event of the stream is a decision; with \`destination\`, an event that was sent there, and the \
outcome; with \`dead\`, a record or event that was set aside. Once a second an event of the type \`rate\` says how many \
were \`seen\`, how many of them were \`sent\` (a sample, if there are many), and how many were \`lost\` because the client \
reads too slowly. \`filter\` is over the members of what is watched; of decisions also over the names that filters of \
subscriptions use, as far as decisions have them. The stream ends when the API key is deleted or expires, the session of the web console ends, or a restriction refuses the address.`

export function registerLive(app: FastifyInstance, context: ApiContext, live: Live): void {
  const schema = {
    operationId: 'watch_decisions',
    summary: 'Watch decisions, deliveries or dead letters as they happen',
    description,
    tags: [decisionsTag.name],
    querystring: Type.Object({
      filter: filterParameter,
      where: Type.Optional(queryExpressionSchema('The earlier name of `filter`.')),
      edge: Type.Optional(Type.String({ description: 'Only decisions at this edge.' })),
      destination: Type.Optional(
        Type.String({ description: 'Deliveries to this event destination instead of decisions.' }),
      ),
      dead: Type.Optional(
        Type.Boolean({ default: false, description: 'Dead letters of the account instead of decisions.' }),
      ),
    }),
    response: {
      200: {
        headers: gapWarning,
        description: 'Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).',
        content: { 'text/event-stream': { schema: linesSchema } },
      },
    },
  }
  app.get(path, { schema }, (request, reply) => {
    const { watch, uses = [] } = watchFor(request, context, live)
    warnOfGaps(reply, context, uses)
    stream(request, reply, watch)
  })
}

/** The lines that the request asks for, and the names that a filter of decisions uses. */
function watchFor(
  request: FastifyRequest,
  context: ApiContext,
  live: Live,
): { readonly watch: Watch; readonly uses?: readonly Use[] } {
  const query = queryOf(request, ['filter', 'where', 'edge', 'destination', 'dead'])
  const { edge, destination } = query
  const filter = filterIn(query)
  const { accountId } = request.caller
  if (isTrueIn(query, 'dead')) {
    if (edge !== undefined || destination !== undefined)
      throw badRequest('"dead" selects dead letters: "edge" and "destination" must be left out.')
    const wants = filterOf(liveDeadLetterSchema, filter)
    return { watch: (reader) => live.watchDeadLetters(accountId, { wants, ...reader }) }
  }
  if (destination !== undefined) {
    if (edge !== undefined)
      throw badRequest('"edge" selects decisions, and "destination" deliveries: give one of them.')
    const { id } = rowOf(readable(context), accountId, anyResource(eventDestination), destination)
    const wants = filterOf(liveDeliverySchema, filter)
    return { watch: (reader) => live.watchDeliveries(accountId, id, { wants, ...reader }) }
  }
  if (edge !== undefined) checkPresent(context, accountId, 'edge', edge, edgeResources)
  const found = filter && compileDecisionFilter(filter.text, filter.name)
  const matches = found?.matches ?? everything
  const wants = (line: LoggedDecision): boolean =>
    (edge === undefined || line.edge_id === edge) && matches(line)
  return {
    watch: (reader) => live.watchDecisions(accountId, { wants, ...reader }),
    uses: usesIn(filter?.name ?? '', found?.names ?? []),
  }
}

interface NamedFilter {
  readonly name: 'filter' | 'where'
  readonly text: string
}

/** Under the name that the client used. */
function filterIn({ filter, where }: { filter?: string; where?: string }): NamedFilter | undefined {
  if (filter !== undefined && where !== undefined)
    throw badRequest('"where" is the earlier name of "filter": give one of them.')
  if (filter !== undefined) return { name: 'filter', text: filter }
  return where === undefined ? undefined : { name: 'where', text: where }
}

const filterOf = <S extends TSchema>(
  schema: S,
  filter: NamedFilter | undefined,
): ((line: Static<S>) => boolean) =>
  filter === undefined ? everything : compileSchemaFilter(schema, filter.text, filter.name)
