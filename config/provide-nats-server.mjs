/** Finds or fetches the `nats-server` that Weir runs; for a clone, and for an installed package. */
import { dirname } from 'node:path'
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
