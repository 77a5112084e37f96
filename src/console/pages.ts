/** The pages of the console: a page is a file in `pages/` and a line here. */
import type { ComponentType } from 'preact'
import type { PageProps } from './parts/page-props.js'

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

export const pages: readonly PageEntry[] = [
  {
    path: '',
    title: 'Overview',
    group: 'Traffic',
    key: 'o',
    load: async () => (await import('./pages/overview.js')).Overview,
  },
  {
    path: 'live',
    title: 'Live',
    group: 'Traffic',
    key: 'l',
    load: async () => (await import('./pages/live.js')).Live,
  },
  {
    path: 'search',
    title: 'Search',
    group: 'Traffic',
    key: 's',
    load: async () => (await import('./pages/search.js')).Search,
  },
  {
    path: 'explain',
    title: 'Explain',
    group: 'Traffic',
    key: 'w',
    load: async () => (await import('./pages/explain.js')).Explain,
  },
  {
    path: 'edges',
    title: 'Edges and policies',
    group: 'Rules',
    key: 'e',
    load: async () => (await import('./pages/edges.js')).Edges,
  },
  {
    path: 'ip-policies',
    title: 'IP policies',
    group: 'Rules',
    key: 'i',
    load: async () => (await import('./pages/ip-policies.js')).IpPolicies,
  },
  {
    path: 'ip-lists',
    title: 'IP lists',
    group: 'Rules',
    key: 'n',
    load: async () => (await import('./pages/ip-lists.js')).IpLists,
  },
  {
    path: 'tests',
    title: 'Policy tests',
    group: 'Rules',
    key: 'p',
    load: async () => (await import('./pages/tests.js')).PolicyTests,
  },
  {
    path: 'challengers',
    title: 'Challengers',
    group: 'Rules',
    key: 'h',
    load: async () => (await import('./pages/challengers.js')).Challengers,
  },
  {
    path: 'findings',
    title: 'Findings',
    group: 'Rules',
    key: 'f',
    load: async () => (await import('./pages/findings.js')).Findings,
  },
  {
    path: 'changes',
    title: 'Changes',
    group: 'Account',
    key: 'c',
    load: async () => (await import('./pages/changes.js')).Changes,
  },
  {
    path: 'certificates',
    title: 'Certificates',
    group: 'Account',
    key: 't',
    load: async () => (await import('./pages/certificates.js')).Certificates,
  },
  {
    path: 'domains',
    title: 'Domains and addresses',
    group: 'Account',
    key: 'a',
    load: async () => (await import('./pages/domains.js')).Domains,
  },
  {
    path: 'bouncers',
    title: 'Bouncers',
    group: 'Delivery',
    key: 'u',
    load: async () => (await import('./pages/bouncers.js')).Bouncers,
  },
  {
    path: 'keys',
    title: 'Keys',
    group: 'Account',
    key: 'k',
    load: async () => (await import('./pages/keys.js')).Keys,
  },
  {
    path: 'destinations',
    title: 'Destinations',
    group: 'Delivery',
    key: 'd',
    load: async () => (await import('./pages/destinations.js')).Destinations,
  },
  {
    path: 'subscriptions',
    title: 'Subscriptions',
    group: 'Delivery',
    key: 'b',
    load: async () => (await import('./pages/subscriptions.js')).Subscriptions,
  },
  {
    path: 'dead-letters',
    title: 'Dead letters',
    group: 'Delivery',
    key: 'x',
    load: async () => (await import('./pages/dead-letters.js')).DeadLetters,
  },
]
