/** The changes of an account or of one resource, newest first. */
import type { Change } from '../shape/decisions/change-schema.js'
import type { Http } from './http.js'

export interface ChangesOptions {
  /** An expression over the members of a change, such as `kind == 'tcp_edge' && verb != 'create'`. */
  readonly filter?: string
  /** Changes at this time (RFC 3339) or later; or a length of time before now, such as `24h`. */
  readonly since?: string
  /** Changes before this time; like `since`. */
  readonly until?: string
  /** Changes in a page: 1 to 100. */
  readonly limit?: number
}

interface Page {
  readonly changes: readonly Change[]
  readonly next_page_uri: string | null
}

/** All changes at a path; pages are fetched as they are needed. */
export async function* changesAt(
  http: Http,
  path: string,
  options: ChangesOptions,
): AsyncGenerator<Change, void, undefined> {
  for (let position: object = {}; ; ) {
    const page = await http.send<Page>('GET', path, { query: { ...options, ...position } })
    yield* page.changes
    if (page.next_page_uri === null) return
    // The URI may have a base that this client can't reach, so only its position is used.
    const { searchParams } = new URL(page.next_page_uri)
    position = {
      before_version: searchParams.get('before_version') ?? undefined,
      before_id: searchParams.get('before_id') ?? undefined,
    }
  }
}
