/** `GET /live`: decisions of the caller's account as they happen, as server-sent events. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { watcherBufferBytesMax } from '../core/limits.js'
import { Type } from '../core/schema.js'
import { type LoggedDecision, loggedDecisionSchema } from '../resource/logged-decision.js'
import { type ApiContext, queryOf } from './context.js'
import { decisionsTag } from './decide-routes.js'
import { compileSchemaFilter } from './list-filter.js'
import type { LiveDecisions, WatcherOptions, WatchRate } from './live.js'

const path = '/live'
const everything = (): boolean => true

const description = `Each event of the stream is a decision. Once a second an event of the type \`rate\` says how many \
decisions were \`seen\`, how many of them were \`sent\` (a sample, if there are many), and how many were \`lost\` because \
the client reads too slowly. The stream ends when the API key is deleted.`

export function registerLive(app: FastifyInstance, context: ApiContext, live: LiveDecisions): void {
  const schema = {
    operationId: 'watch_decisions',
    summary: 'Watch decisions as they happen',
    description,
    tags: [decisionsTag.name],
    querystring: Type.Object({
      where: Type.Optional(
        Type.String({ description: "An expression over the members of a decision: `decision != 'allow'`." }),
      ),
      edge: Type.Optional(Type.String({ description: 'Id of an edge.' })),
    }),
    response: {
      200: {
        description: 'Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).',
        content: { 'text/event-stream': { schema: loggedDecisionSchema } },
      },
    },
  }
  app.get(path, { schema }, (request, reply) => {
    const { where, edge } = queryOf(request, ['where', 'edge'])
    const matches =
      where === undefined ? everything : compileSchemaFilter(loggedDecisionSchema, where, 'where')
    const wants = (line: LoggedDecision): boolean =>
      (edge === undefined || line.edge_id === edge) && matches(line)
    const { accountId } = request.caller
    stream(request, reply, context, (reader) => live.watch({ accountId, wants, ...reader }))
  })
}

type Watch = (reader: Pick<WatcherOptions, 'send' | 'rate' | 'ended'>) => () => void

/** Takes the connection over until the client leaves or stops reading, its key is deleted, or the API stops. */
function stream(request: FastifyRequest, reply: FastifyReply, { store }: ApiContext, watch: Watch): void {
  const { raw } = reply
  const { credentialId } = request.caller.principal
  const finish = (): void => {
    unwatch()
    raw.end()
  }
  const send = (line: LoggedDecision): boolean => {
    if (raw.writableLength > watcherBufferBytesMax) return false
    raw.write(`data: ${JSON.stringify(line)}\n\n`)
    return true
  }
  const rate = (of: WatchRate): void => {
    const isKnown = store.view.state.rows.get('api_key')?.has(credentialId ?? '') === true
    if (!isKnown) finish()
    // Rates alone have filled as much again: it has not read for an hour.
    else if (raw.writableLength > 2 * watcherBufferBytesMax) raw.destroy()
    else raw.write(`event: rate\ndata: ${JSON.stringify(of)}\n\n`)
  }
  const unwatch = watch({ send, rate, ended: finish })
  reply.hijack()
  raw.on('close', unwatch)
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'Content-Type': 'text/event-stream; charset=utf-8',
    // nginx would collect lines before it passes them on.
    'X-Accel-Buffering': 'no',
  })
  raw.flushHeaders()
}
