/**
 * The build of an older commit, in `~/.cache/weir/builds/<commit>`: made the first time from what git has of it. The
 * packages of this clone are linked if they are those that the commit asks for, else npm installs the commit's own.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { env, execPath } from 'node:process'
import { compiled, type Running, runFile } from '../harness/processes.js'

/** Runs the command line of a build: `['serve']`. */
export type Build = (args: readonly string[], environment: Readonly<Record<string, string>>) => Running

type OlderBuild = { readonly build: Build } | { readonly missing: string }

const clone = compiled('..')
const cache = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'weir', 'builds')
const installTimeoutMs = 900_000

export const todaysBuild: Build = (args, environment) =>
  runFile(compiled('programs/main.js'), args, environment)

/** `missing`: why there is none, for the word of a test that is skipped. */
export function olderBuild(commit: string): OlderBuild {
  const dir = join(cache, commit)
  const missing = existsSync(dir) ? undefined : make(commit, dir)
  if (missing !== undefined) return { missing }
  const program = ['dist/programs/main.js', 'dist/src/main.js']
    .map((file) => join(dir, file))
    .find((file) => existsSync(file))
  if (program === undefined) return { missing: `${dir} holds no built program: remove it to build it again` }
  return { build: (args, environment) => runFile(program, args, environment) }
}

/** Returns why it can't be made. It is moved into place when it is complete. */
function make(commit: string, dir: string): string | undefined {
  const { status } = spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], {
    cwd: clone,
    stdio: 'ignore',
  })
  if (status !== 0) return `commit ${commit.slice(0, 8)} is not in this clone (git fetch --unshallow)`
  mkdirSync(dirname(dir), { recursive: true })
  const work = mkdtempSync(`${dir}-`)
  try {
    execFileSync('tar', ['-x', '-C', work], { input: archiveOf(commit) })
    const failed = install(work) ?? prepare(commit, work)
    if (failed === undefined && !existsSync(dir)) renameSync(work, dir)
    return failed
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const archiveBytesMax = 2 ** 30
const archiveOf = (commit: string): Buffer =>
  execFileSync('git', ['archive', commit], { cwd: clone, maxBuffer: archiveBytesMax })

function install(work: string): string | undefined {
  if (packagesIn(work) === packagesIn(clone)) {
    execFileSync('cp', ['-al', join(clone, 'node_modules'), join(work, 'node_modules')])
    // What `config/prepare.mjs` writes there is made again, and these are links to this clone's.
    for (const own of ['.weir-lock', '.bin/weir']) rmSync(join(work, 'node_modules', own), { force: true })
    return undefined
  }
  return ran('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], work)
}

/** Name and hash of each package of a lock file. */
function packagesIn(dir: string): string {
  const { packages } = JSON.parse(readFileSync(join(dir, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string }>
  }
  return Object.entries(packages)
    .map(([name, { integrity }]) => `${name} ${integrity}`)
    .join('\n')
}

function prepare(commit: string, work: string): string | undefined {
  const from = execFileSync('git', ['log', '-1', '--format=%H %cs', commit], { cwd: clone, encoding: 'utf8' })
  return ran(execPath, ['config/prepare.mjs', '--no-nats-server'], work, { BUILT_FROM: from.trim() })
}

function ran(
  program: string,
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): string | undefined {
  const { status, stderr } = spawnSync(program, [...args], {
    cwd,
    env: { ...env, ...more },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    timeout: installTimeoutMs,
  })
  return status === 0 ? undefined : `${program} ${args.join(' ')} failed: ${stderr.trim().slice(-500)}`
}
