/** `POST /records`: records of the caller's account, as NDJSON. They are answered when they are stored. */
import type { FastifyInstance } from 'fastify'
import { parseMessage } from '../../../delivery/record/record.js'
import { WeirError } from '../../../ground/core/errors.js'
import { inflatedBytesMax, publishedBodyBytesMax, recordLinesMax } from '../../../ground/core/limits.js'
import { inTypes, Type } from '../../../ground/core/schema.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import { publishedRecordsSchema, refusalsShownMax } from '../../../words/shape/published-records.js'
import { readable } from '../../exchange/rows.js'
import { slicesOf } from '../../http/bounds/bounded-work.js'
import { type ApiContext, queryOf, sendJson } from '../../http/context.js'
import { describe, shownBy } from '../../http/openapi/openapi.js'
import { acceptRawBodies, rawBody } from '../../http/raw-body.js'
import { traceOf } from '../../http/request-spans.js'
import { ingestTag } from '../parts/tags.js'
import { registerOtlp } from './otlp-routes.js'
import { type IntakeOptions, RecordIntake } from './record-intake.js'

const path = '/records'

export function registerPublishing(
  app: FastifyInstance,
  context: ApiContext,
  options: IntakeOptions & { readonly occurrences: Occurrences },
): void {
  const intake = new RecordIntake(options)
  app.register(async (scope) => {
    acceptRawBodies(scope)
    registerNdjson(scope, context, intake)
    registerOtlp(scope, context, intake, options.occurrences)
  })
}

const ndjson = 'application/x-ndjson'

const linesSchema = shownBy(
  Type.String({ description: 'Records, one per line.' }),
  '{"record_id": "1", "type": "tcp_connection", "conn": {"client_ip": "203.0.113.7"}}\n',
)

function registerNdjson(scope: FastifyInstance, context: ApiContext, intake: RecordIntake): void {
  const described = describe({
    operationId: 'publish_records',
    summary: 'Publish records',
    description: `One record per line, at most ${recordLinesMax} lines and ${publishedBodyBytesMax} bytes, or ${inflatedBytesMax} decompressed (\`Content-Encoding: gzip\`). Records that are right are stored, also if others are refused.`,
    tag: ingestTag.name,
    path,
    success: [200, publishedRecordsSchema],
    body: inTypes({ [ndjson]: linesSchema }),
    atOnce: 'publish',
  })
  const config = { ...described.config, bodies: { types: [ndjson], gzip: true } } as const
  scope.post(path, { ...described, config, bodyLimit: publishedBodyBytesMax }, async (request, reply) => {
    queryOf(request)
    readable(context)
    const { accountId } = request.caller
    const body = await rawBody(request, inflatedBytesMax)
    checkLineCount(body)
    const lines = parseMessage(body)
    intake.meter(accountId, lines.length)
    const { stored, refused } = await intake.store(accountId, lines, slicesOf(request), traceOf(request))
    return sendJson(reply, {
      stored,
      refused_count: refused.length,
      refused: refused.slice(0, refusalsShownMax),
    })
  })
}

const lineFeed = 0x0a

/** Blank lines count too: each takes a moment. Throws a `WeirError`. */
function checkLineCount(body: Buffer): void {
  let count = 0
  for (let at = body.indexOf(lineFeed); at !== -1; at = body.indexOf(lineFeed, at + 1)) {
    count += 1
    if (count > recordLinesMax)
      throw new WeirError('ERR_BODY_TOO_LARGE', `The body has more than ${recordLinesMax} lines.`)
  }
}
