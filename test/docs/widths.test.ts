/** Prose is at most so wide that two files stand beside each other. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { pages, prose } from './pages.js'

const columnsMax = 130

const isTooWide = (line: string): boolean => [...line].length > columnsMax

/** Tables, headings, pictures and generated parts are as wide as they must be. */
const isFree = /^\s*(?:[|#<]|!\[)/
const generated = /<!-- generated: [\s\S]*?<!-- end of generated -->/g

t.test('paragraphs of documents', (t) => {
  const wide = pages.flatMap((page) => {
    const text = prose({ ...page, text: page.text.replaceAll(generated, '') })
    return text
      .split('\n')
      .filter((line) => isTooWide(line) && !isFree.test(line))
      .map((line) => `${page.file}: ${line}`)
  })
  t.strictSame(wide, [])
  t.end()
})

const comment = /^\s*(?:\/\*\*|\*|\/\/)/

t.test('comments', (t) => {
  const files = ['src', 'test', 'config'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(tsx?|mjs)$/.test(name))
      .map((name) => join(folder, name)),
  )
  const wide = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => comment.test(line) && isTooWide(line))
      .map((line) => `${file}: ${line}`),
  )
  t.strictSame(wide, [])
  t.end()
})
