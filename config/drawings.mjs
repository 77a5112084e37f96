/**
 * The drawings of the console's pages, in its menu and where a page has nothing to show: outlines of the package
 * `heroicons`.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** By the path of the page, as in `src/outside/console/pages.ts`. */
const nameOf = {
  '': 'squares-2x2',
  live: 'signal',
  search: 'magnifying-glass',
  explain: 'light-bulb',
  edges: 'globe-alt',
  'ip-policies': 'shield-check',
  'ip-lists': 'queue-list',
  tests: 'clipboard-document-check',
  challengers: 'beaker',
  findings: 'eye',
  bouncers: 'no-symbol',
  destinations: 'paper-airplane',
  subscriptions: 'rss',
  'dead-letters': 'archive-box-x-mark',
  changes: 'clock',
  certificates: 'identification',
  domains: 'map-pin',
  keys: 'key',
}

const require = createRequire(import.meta.url)

/** All lines of a drawing as one path of SVG, on a square of 24. */
const pathOf = (/** @type {string} */ name) =>
  [...readFileSync(require.resolve(`heroicons/24/outline/${name}.svg`), 'utf8').matchAll(/ d="([^"]+)"/g)]
    .map(([, path = '']) => path)
    .join('')

/** @returns {Record<string, string>} paths of SVG by the path of the page */
export const pageDrawings = () =>
  Object.fromEntries(Object.entries(nameOf).map(([page, name]) => [page, pathOf(name)]))
