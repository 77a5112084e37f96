/**
 * Finds a `nats-server`, for the code that fetches one and the code that starts one. Plain JavaScript: it runs before
 * anything is compiled.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'

/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

/**
 * The user's cache directory for a fetched server, outside of any clone.
 *
 * @param {Environment} environment
 */
export function natsServerCacheDir(environment) {
  const cacheHome = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache')
  return join(resolve(cacheHome), 'weir', 'nats-server', `${process.platform}-${process.arch}`)
}

/**
 * The path of a `nats-server`: the one in PATH, else the fetched one; `undefined` if there is none.
 *
 * @param {Environment} environment
 * @returns {string | undefined}
 */
export function findNatsServer(environment) {
  const dirs = (environment.PATH ?? '').split(delimiter).filter((dir) => dir !== '')
  return [...dirs, natsServerCacheDir(environment)]
    .map((dir) => join(dir, 'nats-server'))
    .find(isExecutableFile)
}

/** @param {string} path */
function isExecutableFile(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

export const natsServerMissing = `There is no nats-server. Ways to get one (2.15 is recommended; clients can crash one before
2.9.15, such as Debian 12's):
  - with Go: go install github.com/nats-io/nats-server/v2@v2.15.2
  - Debian, Ubuntu: apt install nats-server
  - macOS: brew install nats-server
  - anything else: https://github.com/nats-io/nats-server/releases, unpacked to a directory of PATH
  - or use a NATS with JetStream that runs elsewhere: NATS_URL=nats://host:4222`
