/** What people paste, as the pages of `docs/recipes` have it: the console shows the same text. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const block = /<!-- recipe: ([^>]+) -->\n+```\w*\n([\s\S]*?)```/g

/**
 * The code blocks of all pages by their marks.
 *
 * @param {string} root of the package
 * @returns {Record<string, string>}
 */
export function recipesIn(root) {
  const directory = join(root, 'docs', 'recipes')
  const texts = readdirSync(directory).map((page) => readFileSync(join(directory, page), 'utf8'))
  return Object.fromEntries(
    texts.flatMap((text) => [...text.matchAll(block)].map(([, mark = '', code = '']) => [mark, code])),
  )
}
