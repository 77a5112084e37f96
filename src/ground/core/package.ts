/**
 * Weir's own package: its version, its files and its programs. The code runs in two forms: bundled, with all files in
 * one directory, and as compiled modules, in the tree of the sources.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

/** The nearest directory above with a package.json. */
function packageAbove(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory
  if (dirname(directory) === directory) throw new Error(`There is no package.json above ${here}.`)
  return packageAbove(dirname(directory))
}

const packageDir = packageAbove(here)

export const version: string = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')).version

/** The path of a file that is neither compiled nor bundled. */
export const packageFile = (...path: readonly string[]): string => join(packageDir, ...path)

/** Which source the programs were built from; `config/built-from.mjs` wrote it when they were. */
interface BuiltFrom {
  readonly commit?: string
  readonly day?: string
  readonly changed?: boolean
}

/** The version, and what it was built from. Programs may read the first word alone. */
export function versionAndBuild(file = packageFile('dist', 'programs', 'built-from.json')): string {
  const { commit, day, changed = false }: BuiltFrom = JSON.parse(readFileSync(file, 'utf8'))
  if (commit === undefined) return `${version} (built from an unknown commit)`
  return `${version} (built from ${commit.slice(0, 8)} of ${day}${changed ? ', with changes' : ''})`
}

/** Programs that others start, as compiled modules. Each is an entry of `config/bundle.mjs`. */
const modules = {
  emulator: '../emulator/main.js',
  'last-resort-thread': 'telemetry/last-resort-thread.js',
}

export const programFile = (name: keyof typeof modules): string =>
  basename(here) === 'core' ? join(here, modules[name]) : packageFile('dist', 'programs', `${name}.js`)

/**
 * The options of Node for a process that Weir forks: as here. Without them, `showSources` reads the source maps that an
 * error needs, instead of all at the start.
 */
export const forkOptions = (): string[] => (process.sourceMapsEnabled ? ['--enable-source-maps'] : [])
