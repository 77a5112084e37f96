/** `GET /ip_lists/{id}/entries`: the entries of an IP list, in pages, or all of them as lines. */
import type { FastifyInstance } from 'fastify'
import { entryOf, type ListEntry, linesIn } from '../../../ground/core/address/list-entry.js'
import { csvColumns } from '../../../ground/core/address/list-formats.js'
import { isoSeconds } from '../../../ground/core/clock.js'
import { badRequest, unavailable } from '../../../ground/core/errors.js'
import { objectOf, oneOf, orNull, Type } from '../../../ground/core/schema.js'
import { Slices } from '../../../ground/core/slices.js'
import { csvLine } from '../../../ground/core/text/csv.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { uriSchema } from '../../../words/resource/fields/id-schema.js'
import { ipList } from '../../../words/resource/ip-list.js'
import { anyResource, type Row } from '../../../words/resource/kind/define.js'
import { entryExample, entrySchema } from '../../../words/shape/ip-lists/ip-list-entries.js'
import { chunksOfList, type ListChunk, type ListRow, textOfChunk } from '../../../words/view/list-chunks.js'
import { coveringMax, coversIn, coversParameter } from '../../exchange/covering.js'
import { limitOf, numberIn, queryText, wordIn } from '../../exchange/query-values.js'
import { readable } from '../../exchange/rows.js'
import { slicesOf } from '../../http/bounds/bounded-work.js'
import { type ApiContext, pathParams, queryOf, rowAt, sendJson } from '../../http/context.js'
import { exampleLinks } from '../../http/openapi/examples.js'
import { describe, routePath, shownBy } from '../../http/openapi/openapi.js'
import { StreamedAnswers } from '../../http/streamed-answers.js'

const resource = anyResource(ipList)
const path = `${routePath(ipList.path)}/:id/entries`

const pageMax = 1_000
const formats = ['json', 'text', 'csv'] as const
/** The query parameters that choose a part of the entries. */
const partial = ['covers', 'limit', 'after'] as const
/** How long a client may take for all entries as text, some 30 MiB: 1 Mbit/s is fast enough. */
const textMsMax = 5 * 60_000

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
    oneOf(
      formats,
      'text: all entries as lines, each with its comment behind `#`, without the time at which it expires. csv: all entries with all that is known of them, as they can be set again. `covers`, `limit` and `after` are for json alone. Default: json.',
    ),
  ),
})

export function registerEntriesList(app: FastifyInstance, context: ApiContext): void {
  const texts = new StreamedAnswers(app, textMsMax)
  const described = describe({
    operationId: 'list_ip_list_entries',
    summary: 'List the entries of an IP list',
    description:
      'In the order in which they were sent. Pages are counted from the first entry: if the entries are replaced meanwhile, the next page is one of the new ones.',
    atOnce: 'list_entries_read',
    tag: pluralOf(ipList.title),
    path,
    success: [200, pageSchema],
    otherForms: {
      'text/plain': shownBy(Type.String({ description: 'With `format=text`.' }), '203.0.113.0/24 # guests\n'),
      'text/csv': shownBy(
        Type.String({ description: 'With `format=csv`.' }),
        `${csvHead}203.0.113.0/24,guests,2027-11-20T10:00:00Z\n`,
      ),
    },
    query: pageQuery,
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, [...partial, 'format'])
    const row = rowAt(context, request, resource)
    const chunks = partsOf(context, row)
    const format = query.format === undefined ? 'json' : wordIn('format', query.format, formats)
    if (format !== 'json') refuseInText(query)
    if (format === 'text') return texts.send(reply, 'text/plain', textOf(chunks, '', commentedLine))
    if (format === 'csv') return texts.send(reply, 'text/csv', textOf(chunks, csvHead, csvLineOf))
    const uri = context.presenter.links.uri(path.replace(':id', pathParams(request)['id'] ?? ''))
    const ranges = coversIn(query.covers)
    if (ranges !== undefined) {
      const found = await coveringEntries(chunks, ranges, slicesOf(request))
      return sendJson(reply, { entries: found.map(shownEntry), uri, next_page_uri: null })
    }
    const limit = limitOf(query.limit, pageMax)
    const after = query.after === undefined ? 0 : numberIn('after', query.after, { min: 0 })
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

/** All entries are sent as text: a part of them, chosen by another parameter, would be the wrong answer. */
function refuseInText(query: Partial<Record<(typeof partial)[number] | 'format', string>>): void {
  const name = partial.find((each) => query[each] !== undefined)
  if (name !== undefined)
    throw badRequest(
      `The query parameter "${name}" is for JSON only: format=${query.format} has all entries.`,
    )
}

function partsOf(context: ApiContext, row: Row): ListChunk[] {
  const chunks = chunksOfList(readable(context), row as ListRow)
  if (chunks === undefined) throw unavailable('The entries of the list are being brought up to date.')
  return chunks
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

const commentedLine = ({ cidr, comment }: ListEntry): string =>
  comment === null ? `${cidr}\n` : `${cidr} # ${comment}\n`

const csvHead = `${csvLine(csvColumns)}\n`

function csvLineOf(entry: ListEntry): string {
  const { cidr, comment, expires_at } = shownEntry(entry)
  return `${csvLine([cidr, comment, expires_at])}\n`
}

/** All entries as lines behind the first one, a piece for each part of the list. */
async function* textOf(
  chunks: readonly ListChunk[],
  head: string,
  shownLine: (entry: ListEntry) => string,
): AsyncGenerator<string> {
  const slices = new Slices()
  yield head
  for (const chunk of chunks) {
    if (slices.isDue()) await slices.pause()
    const lines: string[] = []
    for (const line of linesIn(textOfChunk(chunk))) lines.push(shownLine(entryOf(line)))
    yield lines.join('')
  }
}

/**
 * `covers`: all entries are read, in slices, and the answer is one page. `ranges`: all that contain the address, as entries
 * spell them. Throws a `WeirError`.
 */
async function coveringEntries(
  chunks: readonly ListChunk[],
  ranges: ReadonlySet<unknown>,
  slices: Slices,
): Promise<ListEntry[]> {
  const found: ListEntry[] = []
  for (const chunk of chunks) {
    if (slices.isDue()) await slices.pause()
    for (const line of linesIn(textOfChunk(chunk))) {
      const entry = entryOf(line)
      if (ranges.has(entry.cidr)) found.push(entry)
    }
    if (found.length > coveringMax)
      throw badRequest(`More than ${coveringMax} entries contain this: ask for a narrower range.`)
  }
  return found
}
