/**
 * Builds the playground: `dist/playground/index.html` and its assets, like the console (`config/bundle-console.mjs`). The
 * evaluator is built as for any JavaScript (`config/bundle-evaluate.mjs`); what it needs for patterns only is loaded when
 * there is one.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundlePage } from './bundle-console.mjs'
import { anywhere, nodeLeft } from './bundle-evaluate.mjs'
import { importSource } from './import-source.mjs'

/** Parts of the console and of the evaluator that the page has in another form. */
const replaced = [
  { filter: /\/resource-names\.js$/, file: 'plain-names.ts' },
  { filter: /(^\.|\/kit)\/link\.js$/, file: 'plain-link.tsx' },
  { filter: /^re2js$/, file: 'late-re2js.ts' },
]

/**
 * @param {string} root of the package
 * @returns {import('esbuild').Plugin}
 */
const forPlayground = (root) => ({
  name: 'for-playground',
  setup: ({ onResolve, onLoad }) => {
    const own = join(root, 'src', 'outside', 'playground')
    for (const { filter, file } of replaced)
      onResolve({ filter }, ({ importer }) =>
        importer.startsWith(own) ? undefined : { path: join(own, file) },
      )
    onLoad({ filter: /playground\/vocabulary\.ts$/ }, async () => {
      const { fieldReference } = await importSource(root, 'src/words/event/field-reference.ts')
      const { names, functions } = fieldReference().expressions
      return { contents: `export const vocabulary = ${JSON.stringify({ names, functions })}`, loader: 'js' }
    })
    onLoad({ filter: /playground\/example\.ts$/ }, async () => ({
      contents: `export const example = ${JSON.stringify(await example(root))}`,
      loader: 'js',
    }))
  },
})

/**
 * The text of the example, and the file that it is read as.
 *
 * @param {string} root of the package
 */
async function example(root) {
  const text = readFileSync(join(root, 'src/outside/playground/example.yaml'), 'utf8')
  const { readPolicyFile } = await importSource(root, 'src/judging/evaluate/portable/policy-file.ts')
  const read = readPolicyFile(text)
  if (!read.ok) throw new Error(`The example of the playground is wrong: ${read.faults[0].msg}`)
  return { text, file: read.file }
}

/**
 * Writes the playground to `directory`; throws an error that names the place of each fault.
 *
 * @param {string} root of the package
 * @param {string} directory
 */
export async function bundlePlayground(root, directory) {
  const metafile = await bundlePage(root, directory, 'playground', [forPlayground(root), anywhere])
  const left = nodeLeft(metafile)
  if (left.length > 0) throw new Error(`The playground needs ${left.join(', ')}, which only Node has.`)
}
