/** `PUT /ip_lists/{id}/entries` and `GET`: all entries of an IP list are replaced as one change, and read in pages. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { entryOf, type ListEntry, linesIn } from '../../core/address/list-entry.js'
import { type ListFormat, listFormats } from '../../core/address/list-formats.js'
import { isoSeconds } from '../../core/clock.js'
import { badRequest, shown, unavailable, WeirError } from '../../core/errors.js'
import { ipListBodyBytesMax, ipListEntriesMax } from '../../core/limits.js'
import { inTypes, objectOf, oneOf, orNull, Type } from '../../core/schema.js'
import { Slices } from '../../core/slices.js'
import { pluralOf } from '../../core/text/plural.js'
import { slicesOf } from '../../http/bounds/bounded-work.js'
import { pathParams, queryOf, readable, rowAt, sendJson } from '../../http/context.js'
import { contentCodings } from '../../http/guard.js'
import { onlyHeader } from '../../http/headers.js'
import { coversIn, coversParameter } from '../../http/lists/covering.js'
import { queryText } from '../../http/lists/query-values.js'
import { exampleLinks, shownExample } from '../../http/openapi/examples.js'
import { describe, routePath, shownBy } from '../../http/openapi/openapi.js'
import { writeParameters } from '../../http/openapi/write-parameters.js'
import { isValidateOnly, principalOf, writeParameterNames } from '../../http/write-handlers.js'
import { anyResource, type Row } from '../../resource/define.js'
import { uriSchema } from '../../resource/fields/id-schema.js'
import { ipList } from '../../resource/ip-list.js'
import { resourceSchema } from '../../resource/shown-schema.js'
import { entriesBodySchema, entryExample, entrySchema } from '../../shape/ip-list-entries.js'
import { chunksOfList, type ListChunk, type ListRow, textOfChunk } from '../../view/list-chunks.js'
import { packedList } from '../../write/list-packing.js'
import type { WriteContext } from '../write-context.js'
import { coveringEntries } from './covering-entries.js'

const resource = anyResource(ipList)
const path = `${routePath(ipList.path)}/:id/entries`
const tag = pluralOf(ipList.title)

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

export function registerIpListEntries(app: FastifyInstance, context: WriteContext): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, body: Buffer) => body,
    )
    registerReplacement(scope, context)
  })
  registerPages(app, context)
}

function registerReplacement(app: FastifyInstance, context: WriteContext): void {
  const described = describe({
    operationId: 'put_ip_list_entries',
    summary: 'Replace all entries of an IP list',
    description: `At most ${ipListEntriesMax} entries and ${ipListBodyBytesMax} bytes, also decompressed (\`Content-Encoding: gzip\`). All of them count at the same time, or, if one line is wrong, none.`,
    atOnce: 'list_entries',
    tag,
    path,
    success: [200, shownBy(resourceSchema(resource), shownExample(resource))],
    body: bodySchema,
    query: Type.Object({ ...writeParameters.query.properties, format: formatParameter }),
  })
  const config = { ...described.config, bodies: { types: Object.keys(formatOfType), gzip: true } } as const
  app.put(path, { ...described, config, bodyLimit: ipListBodyBytesMax }, async (request, reply) => {
    const validateOnly = isValidateOnly(request, ['format'])
    const format = formatIn(request)
    const principal = principalOf(request)
    const { id } = rowAt(context, request, resource)
    const packed = await packedList(await bodyOf(request), format, slicesOf(request))
    const { row } = await context.listEntries.replace({
      caller: request.caller,
      principal,
      listId: id,
      packed,
      validateOnly,
      signal: request.work?.signal,
    })
    return sendJson(reply, context.presenter.showJson(resource, row, readable(context)))
  })
}

const isFormat = (text: string): text is ListFormat => (listFormats as readonly string[]).includes(text)

function formatIn(request: FastifyRequest): ListFormat {
  const { format } = queryOf(request, [...writeParameterNames, 'format'])
  if (format !== undefined && !isFormat(format))
    throw badRequest(
      `The query parameter "format" is ${shown(format)}: one of "${listFormats.join('", "')}" is allowed.`,
    )
  const [type = ''] = (onlyHeader(request, 'Content-Type') ?? '').split(';')
  return format ?? formatOfType[type.trim().toLowerCase()] ?? 'json'
}

const decompressed = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)

async function bodyOf(request: FastifyRequest): Promise<Buffer> {
  const body = request.body as Buffer | undefined
  if (body === undefined || body.length === 0)
    throw badRequest('PUT requires a body, because it replaces the whole.')
  if (contentCodings(request).length === 0) return body
  try {
    return await decompressed(body, { maxOutputLength: ipListBodyBytesMax })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE')
      throw badRequest('The body is not valid gzip.')
    throw new WeirError(
      'ERR_BODY_TOO_LARGE',
      `The body is too large: at most ${ipListBodyBytesMax} bytes are allowed, decompressed.`,
    )
  }
}

// --- pages ---

const pageMax = 1_000

const pageSchema = shownBy(
  objectOf(
    {
      entries: Type.Array(entrySchema, { maxItems: pageMax }),
      uri: uriSchema,
      next_page_uri: orNull(uriSchema),
    },
    { title: 'IpListEntryList', description: 'A page, in the order in which the entries were sent.' },
  ),
  {
    entries: [entryExample],
    uri: exampleLinks.uri('/ip_lists/ipl_01M80GWQAHY27RZNTZV6JM67P3/entries'),
    next_page_uri: null,
  },
)

const pageQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: pageMax,
      default: pageMax,
      description: 'The maximum number of entries in a page.',
    }),
  ),
  after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'How many entries to leave out at the beginning.' }),
  ),
  covers: coversParameter,
  format: Type.Optional(
    oneOf(['json', 'text'], 'text: all entries as lines, each with its comment behind `#`. Default: json.'),
  ),
})

function registerPages(app: FastifyInstance, context: WriteContext): void {
  const described = describe({
    operationId: 'list_ip_list_entries',
    summary: 'List the entries of an IP list',
    description:
      'In the order in which they were sent. Pages are counted from the first entry: if the entries are replaced meanwhile, the next page is one of the new ones.',
    atOnce: 'list_entries_read',
    tag,
    path,
    success: [200, pageSchema],
    otherForms: {
      'text/plain': shownBy(Type.String({ description: 'With `format=text`.' }), '203.0.113.0/24 # guests\n'),
    },
    query: pageQuery,
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, ['limit', 'after', 'format', 'covers'])
    const row = rowAt(context, request, resource)
    const chunks = partsOf(context, row)
    if (query.format === 'text') return sendText(reply, chunks)
    if (query.format !== undefined && query.format !== 'json')
      throw badRequest(
        `The query parameter "format" is ${shown(query.format)}: one of "json", "text" is allowed.`,
      )
    const uri = context.presenter.links.uri(path.replace(':id', pathParams(request)['id'] ?? ''))
    const ranges = coversIn(query.covers)
    if (ranges !== undefined) {
      const found = await coveringEntries(chunks, ranges, slicesOf(request))
      return sendJson(reply, { entries: found.map(shownEntry), uri, next_page_uri: null })
    }
    const limit = numberIn('limit', query.limit, { min: 1, max: pageMax, otherwise: pageMax })
    const after = numberIn('after', query.after, { min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 })
    const entries = entriesAt(chunks, after, limit)
    const end = after + entries.length
    const hasMore = end < chunks.reduce((sum, { entries }) => sum + (entries ?? 0), 0)
    return sendJson(reply, {
      entries: entries.map(shownEntry),
      uri,
      next_page_uri: hasMore ? `${uri}?${queryText({ limit: String(limit), after: String(end) })}` : null,
    })
  })
}

function partsOf(context: WriteContext, row: Row): ListChunk[] {
  const chunks = chunksOfList(readable(context), row as ListRow)
  if (chunks === undefined) throw unavailable('The entries of the list are being brought up to date.')
  return chunks
}

interface NumberBounds {
  readonly min: number
  readonly max: number
  readonly otherwise: number
}

function numberIn(name: string, text: string | undefined, { min, max, otherwise }: NumberBounds): number {
  if (text === undefined) return otherwise
  const number = /^\d{1,16}$/.test(text) ? Number(text) : -1
  if (number >= min && number <= max) return number
  throw badRequest(
    `The query parameter "${name}" is ${shown(text)}: a whole number from ${min} to ${max} is needed.`,
  )
}

function entriesAt(chunks: readonly ListChunk[], after: number, limit: number): ListEntry[] {
  const found: ListEntry[] = []
  let skipped = after
  for (const chunk of chunks) {
    const count = chunk.entries ?? 0
    if (skipped >= count) {
      skipped -= count
      continue
    }
    for (const line of linesIn(textOfChunk(chunk))) {
      if (skipped > 0) skipped -= 1
      else if (found.push(entryOf(line)) === limit) return found
    }
  }
  return found
}

const shownEntry = ({ cidr, comment, expiresAt }: ListEntry) => ({
  cidr,
  comment,
  expires_at: expiresAt === null ? null : isoSeconds(expiresAt),
})

async function sendText(reply: FastifyReply, chunks: readonly ListChunk[]): Promise<FastifyReply> {
  const slices = new Slices()
  const texts: string[] = []
  for (const chunk of chunks) {
    if (slices.isDue()) await slices.pause()
    if (reply.raw.destroyed) break
    const lines: string[] = []
    for (const line of linesIn(textOfChunk(chunk))) {
      const { cidr, comment } = entryOf(line)
      lines.push(comment === null ? `${cidr}\n` : `${cidr} # ${comment}\n`)
    }
    texts.push(lines.join(''))
  }
  return reply.type('text/plain; charset=utf-8').send(texts.join(''))
}
