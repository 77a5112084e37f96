/** Lists of resources: in pages, newest first, optionally by filter or description. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Turns } from '../../../ground/core/concurrency.js'
import { badRequest, shown } from '../../../ground/core/errors.js'
import { isId } from '../../../ground/core/ids.js'
import { Slices } from '../../../ground/core/slices.js'
import type { AnyResource, Row } from '../../../words/resource/kind/define.js'
import type { ViewState } from '../../../words/view/view-state.js'
import { coveringMax, coveringPage, coversIn, hasRanges } from '../../exchange/covering.js'
import { compileFilter } from '../../exchange/list-filter.js'
import { limitOf, queryText } from '../../exchange/query-values.js'
import { readable } from '../../exchange/rows.js'
import { type ApiContext, isBelieved, queryOf } from '../context.js'
import { listParameters } from '../openapi/openapi.js'

/** Lists searched concurrently; each takes slices of the event loop that requests wait for. */
const listSearchesAtOnceMax = 2
const listSearchesWaitingMax = 64

/** Does the row belong to the list? */
type IsWanted = (row: Row, state: ViewState) => boolean

const listParametersOf = (resource: AnyResource) =>
  hasRanges(resource) ? ([...listParameters, 'covers'] as const) : listParameters

type ListQuery = { readonly [Name in ReturnType<typeof listParametersOf>[number]]?: string | undefined }

/** Limits concurrent searches of the whole process. */
const searches = new Turns(listSearchesAtOnceMax, listSearchesWaitingMax)

/** The handler that lists the resources of a kind. */
export function listHandler(context: ApiContext, resource: AnyResource) {
  const pagesOf = pagesByRevision()
  const uri = () => context.presenter.links.uri(resource.path)
  const answer = async (request: FastifyRequest, reply: FastifyReply, keep: (page: Buffer) => void) => {
    const query: ListQuery = queryOf(request, listParametersOf(resource))
    const limit = limitOf(query.limit)
    const isWanted = wantedBy(context, resource, query)
    const beforeId = beforeIdOf(resource, query.before_id)
    const { accountId } = request.caller
    const isDisconnected = () => reply.raw.destroyed
    const covers = coversIn(query.covers)
    const search = { resource, accountId, limit, beforeId, isWanted, covers, isDisconnected }
    const isPlain = query.filter === undefined && query.description === undefined && covers === undefined
    const { page, last, hasMore } = await (isPlain ? findPage : searchPage)(context, search)
    const next = hasMore ? `${uri()}?${queryText({ ...query, limit: String(limit), before_id: last })}` : null
    const json = Buffer.from(
      `{"${resource.listName}":[${page.join(',')}],"uri":${JSON.stringify(uri())},"next_page_uri":${JSON.stringify(next)}}`,
    )
    if (isPlain && context.presenter.isFixed(resource) && !isDisconnected()) keep(json)
    reply.sendReadyJson(json)
  }
  return (request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined => {
    const pages = pagesOf(readable(context))
    /** Besides the revision, a kept page depends only on this. */
    const key = `${request.caller.accountId} ${request.url}`
    const kept = pages.get(key)
    if (kept === undefined) return answer(request, reply, (page) => pages.keep(key, page))
    // Its parameters were checked when it was made.
    reply.sendReadyJson(kept)
    return undefined
  }
}

/** A page of entries as JSON, among searches that take as long. */
export const searchPage = (context: ApiContext, search: Search) =>
  searches.take(() =>
    search.covers === undefined ? findPage(context, search) : findCovering(context, search, search.covers),
  )

/** The narrowest rules first, so all are found before a page is cut. */
async function findCovering(context: ApiContext, search: Search, covers: ReadonlySet<unknown>) {
  const isWanted: IsWanted = (row, state) => covers.has(row['cidr']) && search.isWanted(row, state)
  const found = await findPage(context, { ...search, limit: coveringMax, beforeId: undefined, isWanted })
  if (!found.hasMore) return coveringPage(found.page, search.limit, search.beforeId)
  throw badRequest(
    `The query parameter "covers" is contained in more than ${coveringMax} rules: ask for those of one IP policy.`,
  )
}

/** An empty description matches entries without one. */
function wantedBy(context: ApiContext, resource: AnyResource, { filter, description }: ListQuery): IsWanted {
  const matches = filter === undefined ? undefined : compileFilter(resource, filter)
  return (row, state) =>
    isBelieved(context, resource, row) &&
    (description === undefined || (row['description'] ?? '') === description) &&
    (matches === undefined || matches(context.presenter.show(resource, row, state)))
}

interface Search {
  readonly resource: AnyResource
  readonly accountId: string
  readonly limit: number
  readonly beforeId: string | undefined
  readonly isWanted: IsWanted
  /** Only rules with one of these ranges, the narrowest first. */
  readonly covers?: ReadonlySet<unknown> | undefined
  readonly isDisconnected: () => boolean
}

/**
 * Searches in slices, so that other requests proceed; stops early if the client has disconnected. The position is an
 * id, not an index, because entries change in the meantime.
 */
async function findPage(context: ApiContext, search: Search) {
  const { resource, accountId, limit, beforeId, isWanted, isDisconnected } = search
  const slices = new Slices()
  /** Entries found, as JSON. */
  const page: string[] = []
  /** The id of the last entry found. */
  let last: string | undefined
  for (let position = beforeId; ; await slices.pause()) {
    const state = readable(context)
    let isDue = false
    for (const id of state.ids(accountId, resource.kind).below(position)) {
      const row = state.rows.get(resource.kind)?.get(id)
      if (row !== undefined && isWanted(row, state)) {
        if (page.length === limit) return { page, last, hasMore: true }
        page.push(context.presenter.showJson(resource, row, state))
        last = id
      }
      position = id
      isDue = slices.isDue()
      if (isDue) break
    }
    if (!isDue || isDisconnected()) return { page, last, hasMore: false }
  }
}

export function beforeIdOf({ idPrefix }: AnyResource, text: string | undefined): string | undefined {
  if (text === undefined || isId(idPrefix, text)) return text
  throw badRequest(
    `The query parameter "before_id" is ${shown(text)}: an id that begins with "${idPrefix}" is needed.`,
  )
}

const keptBytesMax = 1024 * 1024

/** The pages of one revision. */
class KeptPages {
  readonly #pages = new Map<string, Buffer>()
  #bytes = 0

  get(key: string): Buffer | undefined {
    return this.#pages.get(key)
  }

  /** If there is no room, all others are forgotten. */
  keep(key: string, page: Buffer): void {
    const bytes = key.length + page.byteLength
    if (bytes > keptBytesMax) return
    if (this.#bytes + bytes > keptBytesMax) {
      this.#pages.clear()
      this.#bytes = 0
    }
    this.#pages.set(key, page)
    this.#bytes += bytes
  }
}

/**
 * Pages of a list as bytes, kept while the configuration stays as it is: clients often read the same page again. A page
 * needs no invalidation: pages of another revision are never found again, also those that are kept only after a change,
 * because their search had begun before it.
 */
export function pagesByRevision(): (state: ViewState) => KeptPages {
  let of: { readonly state: ViewState; readonly revision: number; readonly pages: KeptPages } | undefined
  return (state) => {
    if (of?.state !== state || of.revision !== state.revision)
      of = { state, revision: state.revision, pages: new KeptPages() }
    return of.pages
  }
}
