/**
 * Builds the console, and pages like it: `dist/console/index.html` and its assets, whose names have a hash of their content.
 * The page refers to them below `{{root}}`, which the server replaces by the way back to `/`, because a proxy may serve Weir
 * below a path.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pageDrawings } from './drawings.mjs'
import { importSource } from './import-source.mjs'
import { recipesIn } from './recipes.mjs'
import { worldShapes } from './world-shapes.mjs'

/**
 * @param {string} root of the package
 * @returns {import('esbuild').Plugin}
 */
const forBrowsers = (root) => ({
  name: 'for-browsers',
  setup: ({ onLoad }) => {
    onLoad({ filter: /core\/clock\.ts$/ }, () => ({
      contents: "export * from './console/data/clock.js'",
      resolveDir: join(root, 'src', 'outside'),
      loader: 'ts',
    }))
    // It needs the declarations, and with them half of Weir.
    onLoad({ filter: /client\/kind-table\.ts$/ }, async () => ({
      contents: `export const kindTable = ${JSON.stringify((await importSource(root, 'src/words/client/kind-table.ts')).kindTable)}`,
      loader: 'js',
    }))
    onLoad({ filter: /console\/data\/drawings\.ts$/ }, () => ({
      contents: `export const drawings = ${JSON.stringify(pageDrawings())}`,
      loader: 'js',
    }))
    onLoad({ filter: /console\/data\/world\.ts$/ }, async () => ({
      contents: `/*! Outlines of countries: Natural Earth, public domain. */
export const world = ${JSON.stringify(await worldShapes())}`,
      loader: 'js',
    }))
    onLoad({ filter: /console\/data\/recipes\.ts$/ }, () => ({
      contents: `export const recipes = ${JSON.stringify(recipesIn(root))}`,
      loader: 'js',
    }))
  },
})

/**
 * Writes the console to `directory`; throws an error that names the place of each fault.
 *
 * @param {string} root of the package
 * @param {string} directory
 */
export async function bundleConsole(root, directory) {
  await bundlePage(root, directory, 'console', [forBrowsers(root)])
}

/**
 * Writes the API reference to `directory`, with the page about `weir doctor`, which the console links to; throws an error
 * that names the place of each fault.
 *
 * @param {string} root of the package
 * @param {string} directory
 */
export async function bundleReference(root, directory) {
  await bundlePage(root, directory, 'reference', [forBrowsers(root)], 'docs')
  copyFileSync(join(root, 'docs/doctor.md'), join(directory, 'doctor.md'))
}

/**
 * Writes the page whose sources are in the room `name`. `served`: the path that it is served at.
 *
 * @param {string} root of the package
 * @param {string} directory
 * @param {string} name
 * @param {import('esbuild').Plugin[]} plugins
 * @returns {Promise<import('esbuild').Metafile>}
 */
export async function bundlePage(root, directory, name, plugins, served = name) {
  const { build } = await import('esbuild')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const main = `src/outside/${name}/main.tsx`
  const ownStyle = `src/outside/${name}/style.css`
  const style = existsSync(join(root, ownStyle)) ? ownStyle : 'src/outside/console/style.css'
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { [name]: main, style },
    outdir: join(directory, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    target: ['es2022', 'chrome111', 'firefox115', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'eof',
    tsconfig: 'src/outside/console/tsconfig.json',
    plugins,
    logLevel: 'silent',
  })
  /** @param {string} source */
  const built = (source) =>
    basename(Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === source)?.[0] ?? '')
  const page = readFileSync(join(root, `src/outside/${name}/index.html`), 'utf8')
    .replace('main.tsx', `{{root}}${served}/assets/${built(main)}`)
    .replace('style.css', `{{root}}${served}/assets/${built(style)}`)
  writeFileSync(join(directory, 'index.html'), page)
  return metafile
}
