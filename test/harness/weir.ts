/** Weir as its users see it: processes, the API over HTTP, records over NATS, an emulated AWS. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readUserUrl } from '../../src/delivery/nats-server/logins.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { type EmulatorClient, emulatorClient } from '../../src/outside/emulator/client.js'
import { type Client, openClient } from '../../src/words/client/client.js'
import { type Running, run } from './processes.js'

export interface Emulator {
  readonly url: string
  readonly client: EmulatorClient
  readonly key: { readonly accessKeyId: string; readonly secretAccessKey: string }
  stop(): Promise<unknown>
}

export async function startEmulator(): Promise<Emulator> {
  const running = run('programs/emulator.js', ['--port', '0'])
  const [, url = ''] = await running.line(/^aws: (\S+)$/)
  const client = emulatorClient(url)
  const key = {
    accessKeyId: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(20).toString('hex'),
  }
  await client.addKey(key)
  return { url, client, key, stop: () => running.stop() }
}

export interface RunningWeir {
  readonly process: Running
  /** The address of the API. */
  readonly url: string
  readonly token: string
  readonly api: Client
  /** The printed address at which ingress nodes publish. */
  readonly natsUrl: string
  readonly accountId: string
  /** Where connections have all rights. */
  readonly adminUrl: string
  /** A connection with all rights, to look into streams. */
  nats(): Promise<Nats>
  stop(): Promise<unknown>
}

type Environment = Readonly<Record<string, string>>

/** How a test starts Weir: `weir serve` itself, or `npm start`, as people do. */
export type Serve = (env: Environment) => Running

const serve: Serve = (env) => run('programs/main.js', ['serve'], env)

/** As compiled modules, for a test that loads more of them into each role, with `NODE_OPTIONS=--import=…`. */
export const serveModules: Serve = (env) => run('src/main.js', ['serve'], env)

/** The user of the local nats-server with all rights. */
const localAdminUrl = (dataDir: string): string => readUserUrl(join(dataDir, 'nats'), 'admin') ?? ''

/** `weir serve` on free ports and this data directory; waits until it is ready. */
export async function startWeir(
  dataDir: string,
  env: Environment = {},
  token = '',
  start = serve,
): Promise<RunningWeir> {
  const running = start({ WEIR_DATA_DIR: dataDir, WEIR_PORT: '0', ...env })
  const [, natsUrl = ''] = await running.line(/^nats: (\S+)$/)
  const [, url = ''] = await running.line(/^API: (\S+)$/)
  const [, made = token] = /^API key: (\S+)$/m.exec(running.output()) ?? []
  const [, accountId = ''] = /^account: (\S+)$/m.exec(running.output()) ?? []
  const key = env['WEIR_BOOTSTRAP_TOKEN'] ?? made
  const adminUrl = env['NATS_URL'] ?? localAdminUrl(dataDir)
  const opened: Nats[] = []
  return {
    process: running,
    url,
    token: key,
    api: openClient({ url, token: key }),
    natsUrl,
    accountId,
    adminUrl,
    nats: async () => {
      const nats = await openNats({ servers: adminUrl.split(','), name: 'test', replicas: 1 })
      opened.push(nats)
      return nats
    },
    stop: async () => {
      for (const nats of opened) await nats.close()
      return running.stop()
    },
  }
}

/**
 * Calls until the result is true; fails with `what` if that takes too long. Calls are rarer the longer it takes: some
 * conditions cost as much to look at as what they wait for.
 */
export async function until(
  what: string | (() => string),
  holds: () => Promise<boolean> | boolean,
  timeoutMs = 300_000,
): Promise<void> {
  const begun = Date.now()
  while (!(await holds())) {
    const waitedMs = Date.now() - begun
    if (waitedMs > timeoutMs)
      throw new Error(`This did not happen in time: ${typeof what === 'string' ? what : what()}.`)
    await sleep(Math.min(Math.max(waitedMs / 10, 50), 500))
  }
}
