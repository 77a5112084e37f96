/**
 * Fetches a `nats-server` into a cache directory, for a system that has none on the PATH: a current one if it can be had
 * (`nats-server-sources.mjs`), else that of Debian or Ubuntu. apt-get downloads the distribution's package and checks its
 * signature. The system is not changed and root is not needed: missing package lists are fetched into the cache
 * directory, too.
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { natsServerCacheDir } from '../src/delivery/nats-server/find-nats-server.mjs'
import { currentSources } from './nats-server-sources.mjs'

/** A server that is not current is replaced if that is possible; after a failure, not before this time. */
const tryAgainAfterMs = 24 * 60 * 60_000

/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

/**
 * Returns why there is no server, or `undefined` if one is there.
 *
 * @param {Environment} environment
 * @param {(line: string) => void} say
 * @returns {string | undefined}
 */
export function fetchNatsServer(environment, say) {
  const cacheDir = natsServerCacheDir(environment)
  const reasons = fetchCurrent(cacheDir, say)
  if (reasons === undefined) return undefined
  const missing = fetchFrom(cacheDir, (dir) => fromDistribution(dir, say))
  if (missing !== undefined) return [...reasons, missing].join('; ')
  noteFailure(cacheDir)
  say(
    `Took the nats-server of this distribution, because no current one could be had (${reasons.join('; ')}).`,
  )
  return undefined
}

/**
 * A current server and that of the distribution, each in a directory of its own, for tests that run on both; the reason
 * where one can't be had.
 *
 * @param {Environment} environment
 * @param {(line: string) => void} say
 * @returns {readonly { readonly name: string, readonly dir: string, readonly missing: string | undefined }[]}
 */
export function fetchBothNatsServers(environment, say) {
  const dirOf = (/** @type {string} */ name) => `${natsServerCacheDir(environment)}-${name}`
  const [current, distribution] = [dirOf('current'), dirOf('distribution')]
  return [
    {
      name: 'a current nats-server',
      dir: current,
      missing: isCurrent(current) ? undefined : fetchCurrent(current, say)?.join('; '),
    },
    {
      name: "the distribution's nats-server",
      dir: distribution,
      missing: existsSync(join(distribution, 'nats-server'))
        ? undefined
        : fetchFrom(distribution, (dir) => fromDistribution(dir, say)),
    },
  ]
}

/**
 * Replaces a fetched server that is not current, at most once a day: a start must not wait for a network that is not
 * there, and never fails because of it.
 *
 * @param {Environment} environment
 * @param {(line: string) => void} say
 */
export function renewNatsServer(environment, say) {
  const cacheDir = natsServerCacheDir(environment)
  if (isCurrent(cacheDir) || ageOf(failurePath(cacheDir)) < tryAgainAfterMs) return
  // First, so that a start that is interrupted here is the only one that waits.
  noteFailure(cacheDir)
  const reasons = fetchCurrent(cacheDir, say)
  if (reasons !== undefined) say(`The fetched nats-server is not current, and stays (${reasons.join('; ')}).`)
}

/** The file that says which current version is in the cache. */
const versionPath = (/** @type {string} */ cacheDir) => join(cacheDir, 'nats-server.version')
const failurePath = (/** @type {string} */ cacheDir) => join(cacheDir, 'nats-server.not-renewed')

/** @param {string} cacheDir */
function isCurrent(cacheDir) {
  try {
    const version = readFileSync(versionPath(cacheDir), 'utf8')
    return currentSources.some((source) => source.version === version)
  } catch {
    return false
  }
}

/** @param {string} cacheDir */
const noteFailure = (cacheDir) => writeFileSync(failurePath(cacheDir), '')

/** @param {string} path */
function ageOf(path) {
  try {
    return Date.now() - statSync(path).mtimeMs
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/**
 * Returns why no source has one, or `undefined` if one had.
 *
 * @param {string} cacheDir
 * @param {(line: string) => void} say
 * @returns {string[] | undefined}
 */
function fetchCurrent(cacheDir, say) {
  say('Fetching a current nats-server …')
  const reasons = []
  for (const { name, version, fetch } of currentSources) {
    const reason = fetchFrom(cacheDir, fetch)
    if (reason === undefined) {
      writeFileSync(versionPath(cacheDir), version)
      say(`Took nats-server ${version}: ${name}, because none is on the PATH.`)
      return undefined
    }
    reasons.push(`${name}: ${reason}`)
  }
  return reasons
}

/**
 * A source leaves the program in the directory that it is given. It is moved into place in one step: a start may use it.
 *
 * @param {string} cacheDir
 * @param {(dir: string) => string | undefined} fetch
 * @returns {string | undefined}
 */
function fetchFrom(cacheDir, fetch) {
  mkdirSync(cacheDir, { recursive: true })
  const workDir = mkdtempSync(join(cacheDir, 'fetch-'))
  try {
    const reason = fetch(workDir)
    if (reason !== undefined) return reason
    const program = join(workDir, 'nats-server')
    chmodSync(program, 0o755)
    if (!runs(program, ['--version'])) return 'the program does not run on this machine'
    renameSync(program, join(cacheDir, 'nats-server'))
    return undefined
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
}

// --- the distribution's ---

/**
 * @param {string} workDir
 * @param {(line: string) => void} say
 * @returns {string | undefined}
 */
function fromDistribution(workDir, say) {
  if (process.platform !== 'linux' || !runs('apt-get', ['--version'])) return 'this system has no apt-get'
  say('Downloading the nats-server of this distribution …')
  const archive = download(workDir, [], say) ?? downloadWithOwnLists(workDir, say)
  if (archive === undefined) return 'apt-get could not download the package nats-server'
  const program = unpack(workDir, archive)
  if (program === undefined) return `${archive} could not be unpacked`
  renameSync(program, join(workDir, 'nats-server'))
  return undefined
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
