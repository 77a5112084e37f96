/** Builds of pages take data from Weir's own sources. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Bundles a module of the sources for Node, and imports it.
 *
 * @param {string} root of the package
 * @param {string} source path below the root
 * @returns {Promise<Record<string, any>>} what it exports
 */
export async function importSource(root, source) {
  const { build } = await import('esbuild')
  const outfile = join(root, 'dist', `.${source.replace(/\W+/g, '-')}-${process.pid}.mjs`)
  try {
    await build({
      absWorkingDir: root,
      entryPoints: [source],
      outfile,
      bundle: true,
      packages: 'external',
      target: 'node20.19',
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    })
    return await import(pathToFileURL(outfile).href)
  } finally {
    rmSync(outfile, { force: true })
  }
}
