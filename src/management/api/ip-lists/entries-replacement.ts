/** `PUT /ip_lists/{id}/entries`: all entries of an IP list are replaced as one change. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type ListFormat, listFormats } from '../../../ground/core/address/list-formats.js'
import { badRequest } from '../../../ground/core/errors.js'
import { ipListBodyBytesMax, ipListEntriesMax } from '../../../ground/core/limits.js'
import { inTypes, oneOf, Type } from '../../../ground/core/schema.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { ipList } from '../../../words/resource/ip-list.js'
import { anyResource } from '../../../words/resource/kind/define.js'
import { resourceSchema } from '../../../words/resource/shown-schema.js'
import { entriesBodySchema } from '../../../words/shape/ip-lists/ip-list-entries.js'
import type { ViewState } from '../../../words/view/view-state.js'
import { wordIn } from '../../exchange/query-values.js'
import { readable } from '../../exchange/rows.js'
import { slicesOf } from '../../http/bounds/bounded-work.js'
import { onlyHeader } from '../../http/caller/headers.js'
import { queryOf, rowAt, sendJson } from '../../http/context.js'
import { shownExample } from '../../http/openapi/examples.js'
import { describe, routePath, shownBy } from '../../http/openapi/openapi.js'
import { writeParameters } from '../../http/openapi/write-parameters.js'
import { acceptRawBodies, rawBody } from '../../http/raw-body.js'
import {
  isValidateOnly,
  principalOf,
  send,
  withAnswer,
  writeParameterNames,
} from '../../http/write-handlers.js'
import { packedList } from '../../write/list-packing.js'
import type { WriteResult } from '../../write/writes.js'
import type { WriteContext } from '../parts/write-context.js'

const resource = anyResource(ipList)
const path = `${routePath(ipList.path)}/:id/entries`

/** The format of a body of this type, if the request names none. */
const formatOfType: Readonly<Record<string, ListFormat>> = {
  'application/json': 'json',
  'text/plain': 'lines',
  'text/csv': 'csv',
  'application/x-ndjson': 'spamhaus_drop',
}

const formatParameter = Type.Optional(
  oneOf(
    listFormats,
    'How the body is written. Default: by its content type: JSON in any of the forms that are known, lines, CSV, or the lines of JSON of Spamhaus.',
  ),
)

const textSchema = (description: string, example: string) => shownBy(Type.String({ description }), example)

const bodySchema = inTypes({
  'application/json': entriesBodySchema,
  'text/plain': textSchema(
    'A range per line, then perhaps `#` or `;` and a comment.',
    '203.0.113.0/24 # guests\n',
  ),
  'text/csv': textSchema(
    '`cidr,comment,expires_at` per line; a first line may name them.',
    'cidr,comment\n203.0.113.0/24,guests\n',
  ),
  'application/x-ndjson': textSchema(
    'As Spamhaus publishes DROP.',
    '{"cidr":"203.0.113.0/24","sblid":"SBL1"}\n',
  ),
})

export function registerEntriesReplacement(app: FastifyInstance, context: WriteContext): void {
  app.register(async (scope) => {
    acceptRawBodies(scope)
    registerReplacement(scope, context)
  })
}

function registerReplacement(app: FastifyInstance, context: WriteContext): void {
  const described = describe({
    operationId: 'put_ip_list_entries',
    summary: 'Replace all entries of an IP list',
    description: `At most ${ipListEntriesMax} entries and ${ipListBodyBytesMax} bytes, also decompressed (\`Content-Encoding: gzip\`). All of them count at the same time, or, if one line is wrong, none.`,
    atOnce: 'list_entries',
    tag: pluralOf(ipList.title),
    path,
    success: [200, shownBy(resourceSchema(resource), shownExample(resource))],
    body: bodySchema,
    query: Type.Object({ ...writeParameters.query.properties, format: formatParameter }),
  })
  const config = {
    ...described.config,
    bodies: { types: Object.keys(formatOfType), gzip: true },
    isBatchable: true,
  } as const
  app.put(path, { ...described, config, bodyLimit: ipListBodyBytesMax }, async (request, reply) => {
    const validateOnly = isValidateOnly(request, ['format'])
    const format = formatIn(request)
    const principal = principalOf(request)
    const { id } = rowAt(context, request, resource)
    const packed = await packedList(await bodyOf(request), format, slicesOf(request))
    const { batch, caller } = request
    const write = { caller, principal, listId: id, packed, validateOnly, signal: request.work?.signal }
    if (batch !== undefined) {
      const plan = context.listEntries.planInBatch(write, batch.state)
      const show = ({ row }: WriteResult, state: ViewState) => context.presenter.show(resource, row, state)
      return send(
        reply,
        batch.plan(withAnswer(plan, (written, state) => ({ status: 200, body: show(written, state) }))),
      )
    }
    const { row } = await context.listEntries.replace(write)
    return sendJson(reply, context.presenter.showJson(resource, row, readable(context)))
  })
}

function formatIn(request: FastifyRequest): ListFormat {
  const { format } = queryOf(request, [...writeParameterNames, 'format'])
  if (format !== undefined) return wordIn('format', format, listFormats)
  const [type = ''] = (onlyHeader(request, 'Content-Type') ?? '').split(';')
  return formatOfType[type.trim().toLowerCase()] ?? 'json'
}

async function bodyOf(request: FastifyRequest): Promise<Buffer> {
  const body = await rawBody(request, ipListBodyBytesMax)
  if (body.length > 0) return body
  throw badRequest('PUT requires a body, because it replaces the whole.')
}
