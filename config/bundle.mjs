/**
 * Builds what runs, in two forms. Bundled, a role reads some 40 files at its start instead of 900, and starts in less
 * than half of the time; so does a test. As modules, every source and test stays a file of its own.
 */
import { rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** As in `src/ground/core/package.ts`, which finds them while Weir runs; the icon is copied. */
const programs = {
  main: 'src/main.ts',
  'last-resort-thread': 'src/ground/core/telemetry/last-resort-thread.ts',
  emulator: 'src/outside/emulator/main.ts',
  client: 'src/words/client/client.ts',
  favicon: 'src/management/api/pages/favicon.ico',
}

/** They load native code, threads or files by paths of their own. */
const unbundled = ['chdb', 'pino', 'pino-pretty', '@platformatic/kafka']

/** A source map without a mapping. */
const emptyMap = Buffer.from('{"version":3,"sources":[""],"mappings":"A"}').toString('base64')

/**
 * Source maps name the lines of Weir's own sources. Those of packages would be nine tenths of them, and every process
 * reads them at its start.
 *
 * @type {import('esbuild').Plugin}
 */
const withoutMapsOfPackages = {
  name: 'without-maps-of-packages',
  setup: ({ onLoad }) => {
    onLoad({ filter: /node_modules.*\.[cm]?js$/ }, async ({ path }) => {
      const code = await readFile(path, 'utf8')
      return {
        contents: `${code}\n//# sourceMappingURL=data:application/json;base64,${emptyMap}`,
        loader: 'default',
      }
    })
  },
}

/**
 * Writes the programs to `directory`; throws an error that names the place of each fault.
 *
 * @param {string} root of the package
 * @param {string} directory
 */
export const bundlePrograms = (root, directory) => bundle(root, directory, { entryPoints: programs })

/** They are programs of their own, and large; a test that uses one is about it. */
const usedByTests = [
  '@duckdb/*',
  '@hey-api/*',
  '@redocly/*',
  '@seriousme/*',
  'esbuild',
  'playwright-core',
  'typescript',
]

/**
 * Writes test files below `directory`, as they lie below `test`, with the test runner and all they need. Shared parts
 * are in a directory beside theirs, so that all find their files by the same relative paths as the modules do.
 *
 * @param {string} root of the package
 * @param {readonly string[]} files paths below the root
 * @param {string} directory
 */
export const bundleTests = (root, files, directory) =>
  bundle(root, directory, {
    entryPoints: [...files],
    outbase: join(root, 'test'),
    chunkNames: 'shared/[name]-[hash]',
    alias: { 'async-hook-domain': './config/error-domain.mjs' },
    external: [...unbundled, ...usedByTests],
  })

/**
 * @param {string} root
 * @param {string} directory
 * @param {import('esbuild').BuildOptions} options
 */
async function bundle(root, directory, options) {
  const { build } = await import('esbuild')
  rmSync(directory, { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    outdir: directory,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    // What is imported on demand has named exports only as an ES module.
    mainFields: ['module', 'main'],
    external: unbundled,
    loader: { '.ico': 'copy' },
    plugins: [withoutMapsOfPackages],
    sourcemap: 'linked',
    sourcesContent: false,
    // Packages in CommonJS ask for modules of Node with `require`.
    banner: {
      js: `import { createRequire as createRequireOfBundle } from 'node:module'\nconst require = createRequireOfBundle(import.meta.url)`,
    },
    // Errors are thrown; the caller shows them.
    logLevel: 'silent',
    ...options,
  })
}

/**
 * Writes each source to the same place below `directory`; throws an error that names the place of each fault. Types are
 * not looked at, which makes it twenty times as fast as the compiler.
 *
 * @param {string} root of the package
 * @param {readonly string[]} sources paths below the root
 * @param {string} directory
 */
export async function buildModules(root, sources, directory) {
  const { build } = await import('esbuild')
  for (const tree of new Set(sources.map((source) => source.split('/')[0] ?? '')))
    rmSync(join(directory, tree), { recursive: true, force: true })
  const extensions = ['.js', '.mjs']
  for (const extension of extensions)
    await build({
      absWorkingDir: root,
      entryPoints: sources.filter((source) => source.endsWith('.mjs') === (extension === '.mjs')),
      outbase: root,
      outdir: directory,
      outExtension: { '.js': extension },
      platform: 'node',
      format: 'esm',
      target: 'node20.19',
      sourcemap: 'linked',
      sourcesContent: false,
      logLevel: 'silent',
    })
}
