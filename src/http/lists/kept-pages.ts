/** Pages of a list as bytes, kept while the configuration stays as it is: clients often read the same page again. */
import type { ViewState } from '../../view/view-state.js'

const bytesMax = 1024 * 1024

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
    if (bytes > bytesMax) return
    if (this.#bytes + bytes > bytesMax) {
      this.#pages.clear()
      this.#bytes = 0
    }
    this.#pages.set(key, page)
    this.#bytes += bytes
  }
}

/**
 * Finds the kept pages of a state. Nothing needs to be told that a page is stale: pages of another revision are never
 * found again, also those that are kept only after a change, because their search had begun before it.
 */
export function pagesByRevision(): (state: ViewState) => KeptPages {
  let of: { readonly state: ViewState; readonly revision: number; readonly pages: KeptPages } | undefined
  return (state) => {
    if (of?.state !== state || of.revision !== state.revision)
      of = { state, revision: state.revision, pages: new KeptPages() }
    return of.pages
  }
}
