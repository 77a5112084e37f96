/** The pages that pictures are made of. A test compares those of the console with its routes. */
export interface ShownPage {
  /** A part of the file's name. */
  readonly name: string
  /** Below the address of Weir. */
  readonly path: string
}

const consolePaths = [
  ...['', 'live', 'search', 'explain'],
  ...['edges', 'ip-policies', 'ip-lists', 'tests', 'challengers', 'findings'],
  ...['destinations', 'subscriptions', 'dead-letters', 'bouncers'],
  ...['changes', 'certificates', 'domains', 'keys'],
] as const

/** Each is looked at with an empty account, a full one, and with answers that fail. */
export const consolePages: readonly ShownPage[] = consolePaths.map((path) => ({
  name: path === '' ? 'overview' : path,
  path: path === '' ? '' : `console/${path}`,
}))

/** They need no key. */
export const openPages: readonly ShownPage[] = [
  { name: 'sign-in', path: '' },
  { name: 'docs', path: 'docs' },
  { name: 'docs-operation', path: 'docs#tag/ip-policies/POST/ip_policies' },
  { name: 'playground', path: 'playground' },
]
