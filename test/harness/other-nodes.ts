/** Other versions of Node to run the tests on. The npm registry has their programs as packages, which run no scripts. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { arch, env, platform, versions } from 'node:process'

/** A version of Node that the tests are to run on once more. */
export interface Other {
  readonly name: string
  /** The directory of its program, which comes first in PATH; or why it is missing. */
  readonly program: { readonly dir: string } | { readonly missing: string }
}

/** The newest version of each maintained line, and the oldest that Weir runs on. */
const wanted = ['22.23.3', '24.21.0']
const installTimeoutMs = 300_000

const majorOf = (version: string): string => version.split('.')[0] ?? ''

/** All except those of the running Node's line. */
export const otherNodes = (): Other[] =>
  wanted
    .filter((version) => majorOf(version) !== majorOf(versions.node))
    .map((version) => ({ name: `Node ${version}`, program: find(version) }))

/** The fetched program, in the cache directory of this user. */
function find(version: string): Other['program'] {
  const name = `node-${platform}-${arch}`
  const dir = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'weir', 'node', version)
  const path = join(dir, 'node_modules', name, 'bin', 'node')
  if (!existsSync(path)) {
    const missing = install(`${name}@${version}`, dir)
    if (missing !== undefined) return { missing }
  }
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  return stdout?.trim() === `v${version}`
    ? { dir: dirname(path) }
    : { missing: `${path} does not run on this machine` }
}

/** Returns why it can't be installed. Moves it into place in one step, because several processes may install it. */
function install(spec: string, dir: string): string | undefined {
  mkdirSync(dirname(dir), { recursive: true })
  const work = mkdtempSync(`${dir}-`)
  const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', ['install', '--prefix', work, ...options, spec], {
    stdio: 'ignore',
    timeout: installTimeoutMs,
  })
  try {
    if (status !== 0) return `npm install ${spec} failed`
    if (!existsSync(dir)) renameSync(work, dir)
    return undefined
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
