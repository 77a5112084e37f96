/**
 * Fetches a `nats-server` on Debian and Ubuntu: apt-get downloads the distribution's package and checks its signature,
 * and it is unpacked into a cache directory. The system is not changed and root is not needed: missing package lists
 * are fetched into the cache directory, too.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { natsServerCacheDir } from '../src/process/find-nats-server.mjs'

/**
 * Returns why it failed, or `undefined` if a server is there.
 *
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @param {(line: string) => void} say
 * @returns {string | undefined}
 */
export function fetchNatsServer(environment, say) {
  if (process.platform !== 'linux' || !runs('apt-get', ['--version'])) return 'this system has no apt-get'
  const cacheDir = natsServerCacheDir(environment)
  mkdirSync(cacheDir, { recursive: true })
  const workDir = mkdtempSync(join(cacheDir, 'fetch-'))
  try {
    say('Downloading the nats-server of this distribution …')
    const archive = download(workDir, [], say) ?? downloadWithOwnLists(workDir, say)
    if (archive === undefined) return 'apt-get could not download the package nats-server'
    const program = unpack(workDir, archive)
    if (program === undefined) return `${archive} could not be unpacked`
    chmodSync(program, 0o755)
    if (!runs(program, ['--version'])) return 'the downloaded nats-server does not run on this machine'
    renameSync(program, join(cacheDir, 'nats-server'))
    return undefined
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
}

/**
 * @param {string} workDir
 * @param {readonly string[]} options
 * @param {(line: string) => void} say
 */
function download(workDir, options, say) {
  const result = spawnSync('apt-get', ['-qq', ...userOptions, ...options, 'download', 'nats-server'], {
    cwd: workDir,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: downloadTimeoutMs,
  })
  const archive = readdirSync(workDir).find((name) => name.endsWith('.deb'))
  if (archive === undefined && options.length > 0) say((result.stderr ?? '').trim())
  return archive === undefined ? undefined : join(workDir, archive)
}

const downloadTimeoutMs = 300_000

/** Run by root, apt-get switches to another user, who can't read root's cache directory. */
const userOptions = process.getuid?.() === 0 ? ['-o', 'APT::Sandbox::User=root'] : []

/**
 * @param {string} workDir
 * @param {(line: string) => void} say
 */
function downloadWithOwnLists(workDir, say) {
  say('Fetching package lists first …')
  const state = join(workDir, 'apt')
  for (const dir of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(state, dir), { recursive: true })
  const options = [
    ['Dir::State', state],
    ['Dir::State::lists', join(state, 'lists')],
    ['Dir::State::status', '/var/lib/dpkg/status'],
    ['Dir::Cache', join(state, 'cache')],
    ['Acquire::Languages', 'none'],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`])
  spawnSync('apt-get', ['-qq', ...userOptions, ...options, 'update'], {
    stdio: 'ignore',
    timeout: downloadTimeoutMs,
  })
  return download(workDir, options, say)
}

/**
 * A .deb is an `ar` archive that holds the files as `data.tar.*`.
 *
 * @param {string} workDir
 * @param {string} archive
 */
function unpack(workDir, archive) {
  const dir = join(workDir, 'unpacked')
  mkdirSync(dir)
  const program = ['usr/sbin/nats-server', 'usr/bin/nats-server'].map((path) => join(dir, path))
  for (const [command, args] of unpackers(archive, dir)) {
    if (!runs(command, args)) continue
    const found = program.find((path) => existsSync(path))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * @param {string} archive
 * @param {string} dir
 * @returns {readonly [command: string, args: string[]][]}
 */
const unpackers = (archive, dir) => [
  ['dpkg', ['-x', archive, dir]],
  ['dpkg-deb', ['-x', archive, dir]],
  ['sh', ['-c', 'cd "$2" && ar x "$1" && tar -xf data.tar.*', 'sh', archive, dir]],
]

/**
 * @param {string} command
 * @param {readonly string[]} args
 */
function runs(command, args) {
  return spawnSync(command, args, { stdio: 'ignore', timeout: downloadTimeoutMs }).status === 0
}
