/** Lists of resources: in pages, newest first, optionally by filter or description. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Turns } from '../core/concurrency.js'
import { badRequest, shown } from '../core/errors.js'
import { isId } from '../core/ids.js'
import { listSearchesAtOnceMax, listSearchesWaitingMax, pageEntriesMax } from '../core/limits.js'
import { Slices } from '../core/slices.js'
import type { AnyResource, Row } from '../resource/define.js'
import type { ViewState } from '../view/view-state.js'
import { type ApiContext, isBelieved, queryOf, readable, sendJson } from './context.js'
import { compileFilter } from './list-filter.js'
import { listParameters } from './openapi.js'
import type { Presenter } from './present.js'

/** Does the row belong to the list? */
type IsWanted = (row: Row, state: ViewState) => boolean

/** Limits concurrent searches of the whole process. */
const searches = new Turns(listSearchesAtOnceMax, listSearchesWaitingMax)

/** The handler that lists the resources of a kind. */
export function listHandler(context: ApiContext, resource: AnyResource) {
  const { presenter } = context
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const query: ListQuery = queryOf(request, listParameters)
    const limit = limitOf(query.limit)
    const isWanted = wantedBy(presenter, resource, query)
    const search = new Search(presenter, {
      resource,
      limit,
      accountId: request.caller.accountId,
      beforeId: beforeIdOf(resource, query.before_id),
      isWanted: (row, state) => isBelieved(context, resource, row) && isWanted(row, state),
    })
    const isPlain = query.filter === undefined && query.description === undefined
    const run = () =>
      runSearch(
        search,
        () => readable(context),
        () => reply.raw.destroyed,
      )
    await (isPlain ? run() : searches.take(run))
    const uri = presenter.links.uri(resource.path)
    const next = search.hasMore
      ? `${uri}?${nextQuery({ ...query, limit: String(limit), before_id: search.last })}`
      : null
    return sendJson(
      reply,
      `{"${resource.listName}":[${search.page.join(',')}],"uri":${JSON.stringify(uri)},"next_page_uri":${JSON.stringify(next)}}`,
    )
  }
}

interface ListQuery {
  readonly limit?: string | undefined
  readonly before_id?: string | undefined
  readonly filter?: string | undefined
  readonly description?: string | undefined
}

const nextQuery = ({ limit, before_id, filter, description }: ListQuery): string =>
  Object.entries({ limit, before_id, filter, description })
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&')

/** An empty description matches entries without one. */
function wantedBy(presenter: Presenter, resource: AnyResource, { filter, description }: ListQuery): IsWanted {
  const matches = filter === undefined ? undefined : compileFilter(resource, filter)
  return (row, state) =>
    (description === undefined || (row['description'] ?? '') === description) &&
    (matches === undefined || matches(presenter.show(resource, row, state)))
}

/** Searches in slices, so that other requests proceed; stops early if the client has disconnected. */
async function runSearch(
  search: Search,
  state: () => ViewState,
  isDisconnected: () => boolean,
): Promise<void> {
  const slices = new Slices()
  while (!search.advance(state(), () => slices.isDue()) && !isDisconnected()) await slices.pause()
}

interface SearchQuery {
  readonly resource: AnyResource
  readonly accountId: string
  readonly limit: number
  readonly beforeId: string | undefined
  readonly isWanted: IsWanted
}

/** A search through the entries. Its position is an id, not an index, because entries change in the meantime. */
class Search {
  readonly #presenter: Presenter
  readonly #query: SearchQuery
  #position: string | undefined
  /** Entries found, as JSON. */
  readonly page: string[] = []
  /** The id of the last entry found. */
  last: string | undefined
  /** Is there another entry after the page? */
  hasMore = false

  constructor(presenter: Presenter, query: SearchQuery) {
    this.#presenter = presenter
    this.#query = query
    this.#position = query.beforeId
  }

  /** Continues until the page is complete (true) or the slice is over (false). */
  advance(state: ViewState, isDue: () => boolean): boolean {
    const { resource, accountId, limit, isWanted } = this.#query
    for (const id of state.ids(accountId, resource.kind).below(this.#position)) {
      const row = state.rows.get(resource.kind)?.get(id)
      if (row !== undefined && isWanted(row, state)) {
        this.hasMore = this.page.length === limit
        if (this.hasMore) return true
        this.page.push(this.#presenter.showJson(resource, row, state))
        this.last = id
      }
      this.#position = id
      if (isDue()) return false
    }
    return true
  }
}

function beforeIdOf({ idPrefix }: AnyResource, text: string | undefined): string | undefined {
  if (text === undefined || isId(idPrefix, text)) return text
  throw badRequest(
    `The query parameter "before_id" is ${shown(text)}: an id that begins with "${idPrefix}" is needed.`,
  )
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return pageEntriesMax
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= pageEntriesMax) return limit
  throw badRequest(
    `The query parameter "limit" is ${shown(text)}: a whole number from 1 to ${pageEntriesMax} is allowed.`,
  )
}
