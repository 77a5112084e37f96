/** Configurations of other programs as `docs/recipes` has them: tests run those programs with what people copy. */
import { readFileSync } from 'node:fs'

/** The code block behind this mark of a page, with the addresses of a test. */
export function recipe(page: string, mark: string, replaced: Readonly<Record<string, string>> = {}): string {
  const text = readFileSync(`docs/recipes/${page}.md`, 'utf8')
  const { 1: block } = new RegExp(`<!-- recipe: ${mark} -->\n+\`\`\`\\w*\n([^]*?)\`\`\``).exec(text) ?? []
  if (block === undefined) throw new Error(`docs/recipes/${page}.md has no recipe ${mark}.`)
  return Object.entries(replaced).reduce((filled, [from, to]) => {
    if (!filled.includes(from)) throw new Error(`The recipe ${mark} of ${page} does not have ${from}.`)
    return filled.replaceAll(from, to)
  }, block)
}
