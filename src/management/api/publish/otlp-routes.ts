/**
 * `POST /v1/logs`: logs over OTLP/HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). Log records of servers and
 * networks become records of the caller's account. Answers and errors are in the encoding of the request, as the
 * specification demands.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { logsInJson, withExactIntegers } from '../../../delivery/ingest/otlp/json-request.js'
import { type OtlpLog, recordOfLog } from '../../../delivery/ingest/otlp/log-records.js'
import {
  otlpJsonBytesMax,
  otlpJsonValuesMax,
  otlpProtobufBytesMax,
} from '../../../delivery/ingest/otlp/otlp-bounds.js'
import { type Line, parseMessage, tooLarge } from '../../../delivery/record/record.js'
import { badRequest, messageOf, type Result, shown, WeirError } from '../../../ground/core/errors.js'
import { publishedBodyBytesMax, recordBytesMax, recordLinesMax } from '../../../ground/core/limits.js'
import { inTypes, objectOf, type TSchema, Type } from '../../../ground/core/schema.js'
import type { Slices } from '../../../ground/core/slices.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import { outlineOf } from '../../../ground/core/text/json-nesting.js'
import { decoded, parseJsonBody, tooDeep } from '../../exchange/body/json-body.js'
import { problemHeadersOf } from '../../exchange/problem.js'
import { readable } from '../../exchange/rows.js'
import { slicesOf } from '../../http/bounds/bounded-work.js'
import { type ApiContext, queryOf } from '../../http/context.js'
import { describe } from '../../http/openapi/openapi.js'
import { problemsIn } from '../../http/openapi/openapi-problems.js'
import { rawBody } from '../../http/raw-body.js'
import { refusalOf } from '../../http/refused-requests.js'
import { traceOf } from '../../http/request-spans.js'
import { ingestTag } from '../parts/tags.js'
import type { RecordIntake, RefusedLine } from './record-intake.js'

const mebibyte = 1024 * 1024
const protobuf = 'application/x-protobuf'
const json = 'application/json'
const decompressedBytesMax = { [protobuf]: otlpProtobufBytesMax, [json]: otlpJsonBytesMax } as const

/** Records made of the log records of a request. */
const recordsBytesMax = 32 * mebibyte

const path = '/v1/logs'

const requestName = 'opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest'
const responseName = 'opentelemetry.proto.collector.logs.v1.ExportLogsServiceResponse'
const statusName = 'google.rpc.Status'

const int64 = Type.Union([Type.String({ pattern: '^\\d+$' }), Type.Integer()])

const message = (fields: Parameters<typeof Type.Object>[0], options: object = {}): TSchema =>
  Type.Object(
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, Type.Optional(field)])),
    { ...options, additionalProperties: true },
  )

const logAttributes = Type.Array(message({ key: Type.String(), value: message({}) }))
const withAttributes = message({ attributes: logAttributes })
const logSchema = message({
  timeUnixNano: int64,
  observedTimeUnixNano: int64,
  attributes: logAttributes,
})
const scopeLogsSchema = message({ scope: withAttributes, logRecords: Type.Array(logSchema) })

/** The parts that Weir reads. */
const requestSchema = message(
  {
    resourceLogs: Type.Array(message({ resource: withAttributes, scopeLogs: Type.Array(scopeLogsSchema) })),
  },
  {
    title: 'ExportLogsServiceRequest',
    description: requestName,
    examples: [
      {
        resourceLogs: [
          {
            scopeLogs: [
              {
                logRecords: [
                  {
                    timeUnixNano: '1795168800123456789',
                    attributes: [
                      { key: 'client.address', value: { stringValue: '203.0.113.7' } },
                      { key: 'http.request.method', value: { stringValue: 'GET' } },
                      { key: 'url.path', value: { stringValue: '/a/b' } },
                    ],
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  },
)

const responseSchema = objectOf(
  {
    partialSuccess: Type.Optional(
      objectOf(
        { rejectedLogRecords: int64, errorMessage: Type.String() },
        { title: 'ExportLogsPartialSuccess', description: 'Log records that were not stored, and why.' },
      ),
    ),
  },
  {
    title: 'ExportLogsServiceResponse',
    description: responseName,
    examples: [{}],
  },
)

const statusSchema = objectOf(
  { code: Type.Integer(), message: Type.String() },
  { title: 'RpcStatus', description: statusName },
)

const encoded = (message: string): TSchema => Type.String({ description: `${message}, in protobuf.` })

export function registerOtlp(
  parent: FastifyInstance,
  context: ApiContext,
  intake: RecordIntake,
  occurrences: Occurrences,
): void {
  const described = describe({
    operationId: 'export_logs',
    summary: 'Publish log records of OpenTelemetry',
    description: `OTLP/HTTP: at most ${recordLinesMax} log records and ${publishedBodyBytesMax} bytes; decompressed (\`Content-Encoding: gzip\`), ${decompressedBytesMax[protobuf]} in protobuf and ${decompressedBytesMax[json]} in JSON.`,
    tag: ingestTag.name,
    path,
    success: [200, responseSchema],
    otherForms: { [protobuf]: encoded(responseName) },
    body: inTypes({ [json]: requestSchema, [protobuf]: encoded(requestName) }),
    atOnce: 'publish',
  })
  const problems = problemsIn(inTypes({ [json]: statusSchema, [protobuf]: encoded(statusName) }))
  const schema = { ...described.schema, response: { ...described.schema.response, ...problems } }
  const config = { ...described.config, bodies: { types: [json, protobuf], gzip: true } } as const
  parent.register(async (scope) => {
    scope.setErrorHandler(answerStatus(occurrences))
    scope.post(path, { schema, config, bodyLimit: publishedBodyBytesMax }, async (request, reply) => {
      queryOf(request)
      readable(context)
      const { accountId } = request.caller
      const slices = slicesOf(request)
      const logs = await logsOf(request)
      intake.meter(accountId, logs.length)
      const { lines, refused } = await recordsOf(logs, slices)
      const taken = await intake.store(accountId, lines, slices, traceOf(request), refused)
      return sendMessage(request, reply, 'response', responseOf(taken.refused))
    })
  })
}

async function logsOf(request: FastifyRequest): Promise<readonly OtlpLog[]> {
  const type = typeOf(request)
  const body = await rawBody(request, decompressedBytesMax[type])
  const value = type === protobuf ? undefined : exactValue(body)
  try {
    return value === undefined ? (await messages()).logsIn(body, recordLinesMax) : logsInJson(value)
  } catch (error) {
    throw badRequest(`The body is no ExportLogsServiceRequest: ${shownFault(error)}.`)
  }
}

/**
 * Unlike bodies of other requests, what is ignored may have repeated keys, or anything in its texts. Throws a `WeirError`.
 */
function exactValue(body: Buffer): unknown {
  const text = decoded(body)
  if (text.trim() === '') return {}
  // Before they are objects.
  const { isTooDeep, containers } = outlineOf(text)
  if (isTooDeep) throw tooDeep()
  if (containers > otlpJsonValuesMax)
    throw new WeirError(
      'ERR_BODY_TOO_LARGE',
      `The body has ${containers} objects and lists: at most ${otlpJsonValuesMax} are allowed.`,
    )
  try {
    return JSON.parse(withExactIntegers(text))
  } catch {
    // Says where it is none.
    return parseJsonBody(body, Number.POSITIVE_INFINITY)
  }
}

/** Loaded when the first one arrives. */
const messages = () => import('../../../delivery/ingest/otlp/messages.js')

const typeOf = ({ headers }: FastifyRequest): keyof typeof decompressedBytesMax =>
  /^\s*application\/x-protobuf\b/i.test(headers['content-type'] ?? '') ? protobuf : json

const faultCharsMax = 200

/** A message of the parser may repeat what was sent. */
const shownFault = (error: unknown): string => shown(messageOf(error), faultCharsMax).slice(1, -1)

/**
 * The records as JSON, a line for each log record; a blank one if it is refused. Throws a `WeirError` if they are too large
 * together: what a resource or a scope has, each of its many records repeats.
 */
async function recordsOf(
  logs: readonly OtlpLog[],
  slices: Slices,
): Promise<{ lines: readonly Line[]; refused: RefusedLine[] }> {
  const texts: string[] = []
  const refused: RefusedLine[] = []
  let bytesMade = 0
  for (const [index, log] of logs.entries()) {
    if (slices.isDue()) await slices.pause()
    const record = readLog(log)
    const text = record.ok ? JSON.stringify(record.value) : ''
    const bytes = Buffer.byteLength(text)
    // Refused ones count too: each takes a while.
    bytesMade += bytes
    if (bytesMade > recordsBytesMax) throw tooManyBytes
    const isStored = record.ok && bytes <= recordBytesMax
    texts.push(isStored ? text : '')
    if (!isStored) refused.push({ line: index + 1, reason: record.ok ? tooLarge(bytes) : record.problem.msg })
  }
  return { lines: parseMessage(Buffer.from(texts.join('\n'))), refused }
}

const tooManyBytes = new WeirError(
  'ERR_BODY_TOO_LARGE',
  `The log records become records of more than ${recordsBytesMax} bytes: send fewer at once.`,
)

function readLog(log: OtlpLog): Result<object> {
  try {
    return recordOfLog(log)
  } catch (error) {
    return { ok: false, problem: { msg: `It is no LogRecord: ${shownFault(error)}.` } }
  }
}

const reasonsShownMax = 3

/** The specification demands that `partialSuccess` is left out if nothing was refused. */
function responseOf(refused: readonly RefusedLine[]): object {
  if (refused.length === 0) return {}
  const first = refused.slice(0, reasonsShownMax)
  const reasons = first.map(({ line, reason }) => `Log record ${line}: ${reason}`)
  const rest = refused.length - first.length
  const errorMessage = [...reasons, ...(rest === 0 ? [] : [`${rest} more.`])].join(' ')
  return { partialSuccess: { rejectedLogRecords: String(refused.length), errorMessage } }
}

async function sendMessage(
  request: FastifyRequest,
  reply: FastifyReply,
  kind: 'response' | 'status',
  message: object,
): Promise<FastifyReply> {
  if (typeOf(request) === json) return reply.type(json).send(JSON.stringify(message))
  const { encodedResponse, encodedStatus } = await messages()
  return reply.type(protobuf).send((kind === 'response' ? encodedResponse : encodedStatus)(message))
}

// --- errors ---

/** `google.rpc.Code` of a status of HTTP: https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
const rpcCodes: Readonly<Record<number, number>> = { 401: 16, 403: 7, 404: 5, 429: 8, 500: 13, 503: 14 }
const invalidArgument = 3

/** Exporters repeat a request after 429 and 503, in the time of `Retry-After`. */
const answerStatus =
  (occurrences: Occurrences) =>
  async (
    thrown: FastifyError | WeirError,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const error = refusalOf(occurrences, thrown, request)
    const { 'Content-Type': _, ...headers } = problemHeadersOf(error)
    reply.status(error.status).headers(headers)
    const code = rpcCodes[error.status] ?? invalidArgument
    return sendMessage(request, reply, 'status', { code, message: error.message })
  }
