/** A page: its line in the list of pages, and the props of the page and its parts. */
import type { ComponentChildren, ComponentType } from 'preact'

export interface PageEntry {
  /** Its place below `/console/`; empty: the first page, at `/`. */
  readonly path: string
  readonly title: string
  readonly group: (typeof pageGroups)[number]
  /** `g` and this letter lead there. */
  readonly key: string
  readonly load: () => Promise<ComponentType<PageProps>>
}

export const pageGroups = ['Traffic', 'Rules', 'Delivery', 'Account'] as const

export interface PageProps {
  /** The parts of the path behind the page's own, such as an id. */
  readonly rest: readonly string[]
}

/** Props of the main part of a page: one of several kinds of things, in a list. */
export interface HeadedProps {
  /** The head of the page, with a button. */
  readonly head: (button: ComponentChildren) => ComponentChildren
  /** The id of an entry that is open. */
  readonly opened: string | undefined
}
