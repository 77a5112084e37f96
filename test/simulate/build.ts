/**
 * Builds the simulation: Weir's sources and the models as one program, in which the files that hold time and ids of a process
 * stand aside for those of `world/`. A planted fault changes a few lines of one source.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { packageFile } from '../../src/ground/core/package.js'
import type { Planted } from './planted.js'

const root = packageFile('.')
const here = join(root, 'test/simulate')

/** Builds it, and resolves with the program's path. */
export async function buildSimulation(planted?: Planted): Promise<string> {
  const outfile = join(root, 'dist/simulate', `${planted?.name.replaceAll(' ', '-') ?? 'weir'}.mjs`)
  await build({
    entryPoints: [join(here, 'worker.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: true,
    sourcesContent: false,
    absWorkingDir: root,
    logLevel: 'warning',
    plugins: [standIns, ...(planted === undefined ? [] : [plant(planted)])],
  })
  return outfile
}

const standIns: Plugin = {
  name: 'stand-ins',
  setup({ onResolve }) {
    const clock = join(here, 'world/clock.ts')
    onResolve({ filter: /\/clock\.js$/ }, ({ importer }) =>
      importer === clock ? undefined : { path: clock },
    )
    onResolve({ filter: /^ulid$/ }, () => ({ path: join(here, 'world/ulid.ts') }))
  },
}

/** Throws if the lines to be changed are not there, or not there alone: the list must keep up with the sources. */
const plant = ({ name, file, lines, instead }: Planted): Plugin => ({
  name: 'planted',
  setup({ onLoad }) {
    onLoad({ filter: new RegExp(`/src/${file.replaceAll('.', '\\.')}$`) }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const parts = text.split(lines)
      if (parts.length !== 2) throw new Error(`"${name}": ${file} has its lines ${parts.length - 1} times.`)
      return { contents: parts.join(instead), loader: 'ts' }
    })
  },
})
