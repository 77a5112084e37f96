/** How much a browser must load before a page can be used: the less, the sooner. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { compiled } from '../../harness/processes.js'
import { inBrowser, newAccount, openSignedIn } from './visitor.js'

/** A page, its scripts and styles, without the editor and the map, which are loaded on demand. */
const pageBytesMax = 80 * 1024
/** Each is loaded once, when it is first shown. */
const onDemandBytesMax: Readonly<Record<string, number>> = { 'editor-core': 130 * 1024, world: 45 * 1024 }

const sizeOf = (bytes: Buffer): number => gzipSync(bytes, { level: 9 }).length

const assets = compiled('console/assets')
const files = readdirSync(assets)
const scripts = files.filter((file) => file.endsWith('.js'))
const isOfTheFirst = (file: string): boolean => /^(console-.*\.js|style-.*\.css)$/.test(file)

/** The file and all that it imports at once. */
function withImports(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  if (!file.endsWith('.js')) return found
  const text = readFileSync(join(assets, file), 'utf8')
  for (const [, imported = ''] of text.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+)["']/g))
    withImports(imported, found)
  return found
}

const bytesOf = (names: Iterable<string>): number =>
  [...names].reduce((sum, name) => sum + sizeOf(readFileSync(join(assets, name))), 0)

t.test('a page, with all that it imports', { buffered: true }, async (t) => {
  const begin = new Set(files.filter(isOfTheFirst).flatMap((file) => [...withImports(file)]))
  // Chunks are shared, and loaded with what imports them.
  const pages = scripts.filter((file) => !/^(chunk|console)-/.test(file))
  t.ok(pages.length > 10)
  for (const file of pages) {
    const own = withImports(file)
    const [, max] = Object.entries(onDemandBytesMax).find(([name]) => file.startsWith(`${name}-`)) ?? []
    const bytes =
      max === undefined
        ? bytesOf(new Set([...begin, ...own]))
        : bytesOf([...own].filter((each) => !begin.has(each)))
    t.ok(bytes <= (max ?? pageBytesMax), `${file}: ${(bytes / 1024).toFixed(1)} KiB`)
  }
})

t.test('the first page in a browser', inBrowser(), async (t) => {
  const visitor = await openSignedIn(t, (await newAccount()).token)
  const loaded: Promise<Buffer>[] = []
  visitor.page.on('response', (response) => {
    if (response.request().isNavigationRequest() || response.url().includes('/console/assets/'))
      loaded.push(response.body())
  })
  await visitor.see('')
  const bytes = (await Promise.all(loaded)).reduce((sum, body) => sum + sizeOf(body), 0)
  t.ok(loaded.length > 3)
  t.ok(bytes <= pageBytesMax, `${(bytes / 1024).toFixed(1)} KiB`)
})
