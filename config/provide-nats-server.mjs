/** Finds or fetches the `nats-server` that Weir runs; for a clone, and for an installed package. */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { findNatsServer, natsServerCacheDir } from '../src/delivery/nats-server/find-nats-server.mjs'
import { fetchNatsServer, renewNatsServer } from './fetch-nats-server.mjs'

/**
 * Takes the one on the PATH, else a fetched one. Returns why none could be fetched if there is none.
 *
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @param {(line: string) => void} say
 * @returns {string | undefined}
 */
export function provideNatsServer(environment, say) {
  const found = findNatsServer(environment)
  if (found === undefined) return fetchNatsServer(environment, say)
  if (dirname(found) === natsServerCacheDir(environment)) renewNatsServer(environment, say)
  return undefined
}

/**
 * The fetched one, whatever this machine has on its PATH: packages bring it.
 *
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @param {(line: string) => void} say
 * @returns {{ readonly program: string } | { readonly reason: string }}
 */
export function ownNatsServer(environment, say) {
  const program = join(natsServerCacheDir(environment), 'nats-server')
  const reason =
    spawnSync(program, ['--version']).status === 0 ? undefined : fetchNatsServer(environment, say)
  return reason === undefined ? { program } : { reason }
}
