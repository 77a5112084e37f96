/** What a page is given. */
export interface PageProps {
  /** The parts of the path behind the page's own, such as an id. */
  readonly rest: readonly string[]
}
