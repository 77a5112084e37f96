/** Links and names in the documents lead somewhere. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { anchorOf, anchorsIn, pages, prose } from './pages.js'

const readmeLinesMax = 150

function linksIn(text: string): string[] {
  const markdown = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
  const html = [...text.matchAll(/(?:src|srcset|href)="([^"]+)"/g)]
  return [...markdown, ...html].map(([, target = '']) => target)
}

t.test('every relative link and anchor resolves', (t) => {
  for (const page of pages) {
    for (const link of linksIn(prose(page))) {
      if (/^https?:/.test(link)) continue
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page.file : normalize(join(dirname(page.file), path))
      t.ok(existsSync(target), `${page.file}: ${link}`)
      if (anchor !== undefined) t.ok(anchorsIn(target).includes(anchor), `${page.file}: ${link}`)
    }
  }
  t.end()
})

t.test('no heading comes twice in a page, or its anchor would mean the first', (t) => {
  for (const { file } of pages.filter((page) => page.file !== 'CHANGELOG.md')) {
    const anchors = anchorsIn(file)
    t.equal(new Set(anchors).size, anchors.length, file)
  }
  t.end()
})

t.test('a list of contents has every section of its page, in order', (t) => {
  let lists = 0
  for (const page of pages) {
    const text = prose(page)
    const sections = [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
    const head = text.split(/^## /m)[0] ?? ''
    const listed = [...head.matchAll(/^- \[.*?\]\(#([^)]+)\)/gm)].map(([, anchor]) => anchor)
    if (listed.length === 0) continue
    lists += 1
    t.strictSame(listed, sections, page.file)
  }
  t.ok(lists > 10, `${lists} of them`)
  t.end()
})

t.test('every page is reached from the front page', (t) => {
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const page = pages.find((each) => each.file === file)
    if (page === undefined) return
    for (const link of linksIn(prose(page)))
      visit(normalize(join(dirname(file), link.split('#')[0] || `../${file}`)))
  }
  visit('README.md')
  for (const { file } of pages) t.ok(seen.has(file), file)
  t.end()
})

t.test(`the front page has at most ${readmeLinesMax} lines`, (t) => {
  t.ok(readFileSync('README.md', 'utf8').trimEnd().split('\n').length <= readmeLinesMax)
  t.end()
})

t.test('the light and the dark picture differ by their colours alone', (t) => {
  const [light, dark] = ['light', 'dark'].map((theme) => {
    const text = readFileSync(`docs/images/how-it-works-${theme}.svg`, 'utf8')
    return text.replace(/<style>[\s\S]*?<\/style>/, (style) => style.replaceAll(/#[0-9a-f]{6}/g, '#'))
  })
  t.equal(light, dark)
  t.end()
})
