/** The nats-server that is not the one on the PATH, to run the tests on it, too: a current one, or the distribution's. */
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { env } from 'node:process'
import { findNatsServer } from '../../src/delivery/nats-server/find-nats-server.mjs'
import type { Other } from './other-nodes.js'

interface Fetched {
  readonly name: string
  readonly dir: string
  readonly missing: string | undefined
}

const versionOf = (program: string): string =>
  spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? ''

/** Those of another minor version than the server that the tests run on anyway. */
export async function otherNatsServers(): Promise<Other[]> {
  // `config` is not built: what stands there runs before anything is.
  const { fetchBothNatsServers } = (await import(resolve('config/fetch-nats-server.mjs'))) as {
    fetchBothNatsServers: (environment: typeof env, say: () => void) => readonly Fetched[]
  }
  const usual = lineOf(versionOf(findNatsServer(env) ?? 'nats-server'))
  return fetchBothNatsServers(env, () => {})
    .map(({ name, dir, missing }) =>
      missing === undefined
        ? { name: versionOf(join(dir, 'nats-server')), program: { dir } }
        : { name, program: { missing } },
    )
    .filter(({ name }) => lineOf(name) !== usual)
}

/** 2.15 of `nats-server: v2.15.1`. */
const lineOf = (version: string): string => /\d+\.\d+/.exec(version)?.[0] ?? version
