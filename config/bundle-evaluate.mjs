/**
 * Builds the evaluator for any JavaScript: `dist/evaluate/evaluate.js`, the entry point `weir/evaluate` of the package. The
 * build fails if it needs anything of Node.
 */
import { mkdirSync, rmSync } from 'node:fs'

/** What the evaluator needs of `src/ground/core/clock.ts`, as everyone has it. */
const clock = `export const now = () => Date.now()
export const isoSeconds = (ms) => new Date(ms).toISOString().slice(0, 19) + 'Z'
export const monotonicMs = () => performance.now()
export const yieldInTurn = () => new Promise((resolve) => setTimeout(resolve))`

/**
 * Modules of Node are left out where nothing uses them; what remains is an import that no browser resolves, so that
 * `nodeLeft` finds it.
 *
 * @type {import('esbuild').Plugin}
 */
export const anywhere = {
  name: 'anywhere',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }))
    onLoad({ filter: /core\/clock\.ts$/ }, () => ({ contents: clock, loader: 'js' }))
  },
}

/**
 * Names what is left of Node in built files.
 *
 * @param {import('esbuild').Metafile} metafile
 * @returns {string[]}
 */
export const nodeLeft = ({ outputs }) =>
  Object.values(outputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map(({ path }) => path),
  )

/**
 * Writes the entry point to `directory`; throws an error that names the place of each fault.
 *
 * @param {string} root of the package
 * @param {string} directory
 */
export async function bundleEvaluate(root, directory) {
  const { build } = await import('esbuild')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { evaluate: 'src/judging/evaluate/portable/evaluate-anywhere.ts' },
    outdir: directory,
    bundle: true,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    legalComments: 'eof',
    plugins: [anywhere],
    logLevel: 'silent',
  })
  const left = nodeLeft(metafile)
  if (left.length > 0) throw new Error(`The evaluator needs ${left.join(', ')}, which only Node has.`)
}
