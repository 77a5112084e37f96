/** How much a browser must load before a page can be used: the less, the sooner. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { noChromium } from '../harness/browser.js'
import { newAccount, openSignedIn } from './visitor.js'

/** Of the page, its scripts and styles, without the editor and the map, which are loaded on demand. */
const pageBytesMax = 80 * 1024
/** Editor and map: each is loaded once, when it is first shown. */
const editorBytesMax = 130 * 1024
const mapBytesMax = 45 * 1024
const onDemand = /\/(editor-core|world)[\w-]*\.(js|json)$/

t.test('weight', { skip: noChromium }, async (t) => {
  const { token } = await newAccount()
  const first = await openSignedIn(t, token)
  await first.see('')
  const paths: string[] = await first.page.evaluate(
    `[...document.querySelectorAll('nav a')].map((each) => each.pathname.slice(1))`,
  )
  for (const path of paths) {
    const visitor = await openSignedIn(t, token)
    const loaded = new Map<string, Promise<Buffer>>()
    visitor.page.on('response', (response) => {
      const isOfPage = response.request().isNavigationRequest() || response.url().includes('/console/assets/')
      if (isOfPage) loaded.set(response.url(), response.body())
    })
    await visitor.see(path)
    let bytes = 0
    for (const [url, body] of loaded) {
      const size = gzipSync(await body, { level: 9 }).length
      if (!onDemand.test(url)) bytes += size
      else t.ok(size <= (url.includes('editor') ? editorBytesMax : mapBytesMax), `${url}: ${size} bytes`)
    }
    const name = path === '' ? 'the first page' : path
    t.ok(
      bytes <= pageBytesMax,
      `${name} loads ${(bytes / 1024).toFixed(1)} KiB, at most ${pageBytesMax / 1024}`,
    )
    t.ok(loaded.size > 3, `${name} was weighed`)
    await visitor.context.close()
  }
})
