/** The entries of IP lists: read in their order, and replaced as a whole. */
import type { ListFormat } from '../../ground/core/address/list-formats.js'
import type { IpListEntry, NewIpListEntry } from '../shape/ip-lists/ip-list-entries.js'
import type { IpListPreview, ListPreviewRequest } from '../shape/ip-lists/ip-list-preview.js'
import type { IpListRefresh } from '../shape/ip-lists/ip-list-refresh.js'
import { type WriteOptions, writeQuery } from './collection.js'
import type { Http, Request } from './http.js'
import { kindTable } from './kind-table.js'
import type { Resource } from './kinds.js'

/** Entries, or a text that has them in one of the formats in which lists are published. */
export type NewListEntries = readonly NewIpListEntry[] | ListText

interface ListText {
  readonly text: string
  readonly format: ListFormat
}

interface Page {
  readonly entries: readonly IpListEntry[]
  readonly next_page_uri: string | null
}

export class ListEntriesClient {
  readonly #http: Http

  constructor(http: Http) {
    this.#http = http
  }

  /** All entries of a list, or those that contain an address or a range. Pages are fetched as they are needed. */
  async *list(
    listId: string,
    options: { readonly covers?: string } = {},
  ): AsyncGenerator<IpListEntry, void, undefined> {
    for (let query: Request['query'] = { ...options }; ; ) {
      const page: Page = await this.#http.send<Page>('GET', pathOf(listId, 'entries'), { query })
      yield* page.entries
      if (page.next_page_uri === null) return
      // The URI may have a base that this client can't reach, so only its query is used.
      query = Object.fromEntries(new URL(page.next_page_uri).searchParams)
    }
  }

  /** Replaces all entries of a list as one change. */
  async replace(
    listId: string,
    entries: NewListEntries,
    options: WriteOptions = {},
  ): Promise<Resource<'ipList'>> {
    const body = isText(entries)
      ? { text: { type: 'text/plain', text: entries.text } }
      : { body: { entries } }
    const format = isText(entries) ? entries.format : undefined
    return this.#http.send('PUT', pathOf(listId, 'entries'), {
      ...body,
      query: { ...writeQuery(options), format },
    })
  }

  /** The entries of a source. Nothing is stored. */
  preview(source: ListPreviewRequest['source']): Promise<IpListPreview> {
    return this.#http.send('POST', `${kindTable['ipList']!.path}/preview`, { body: { source } })
  }

  /** Fetches a list from its source now. */
  refresh(listId: string): Promise<ListRefresh> {
    return this.#http.send('POST', pathOf(listId, 'refresh'), {})
  }
}

/** The outcome of a fetch, and the list after it. */
interface ListRefresh extends IpListRefresh {
  readonly ip_list: Resource<'ipList'>
}

const isText = (entries: NewListEntries): entries is ListText => !Array.isArray(entries)

const pathOf = (listId: string, name: 'entries' | 'refresh'): string =>
  `${kindTable['ipList']!.path}/${encodeURIComponent(listId)}/${name}`
