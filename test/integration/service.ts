/**
 * One `weir serve` with an emulated AWS for all files of this process that need no other settings than these, because
 * starts take longest. Each test has an account of its own, and looks at what is counted for all accounts as a difference.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import root from 'tap'
import { readRuntime, sendAdminCommand } from '../../src/management/process/running-service.js'
import { openClient } from '../../src/words/client/client.js'
import { untilInUse } from '../harness/in-use.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { type Emulator, type RunningWeir, startEmulator, startWeir } from '../harness/weir.js'
import { configure, type Deployment } from './deployment.js'

// For all files of the process together.
root.setTimeout(1_800_000)

/** Weir's own keys, with which it assumes roles. */
export const ownKey = { accessKeyId: 'AKIAWEIRITSELF000000', secretAccessKey: 'the secret of Weir itself' }

interface Service {
  readonly emulator: Emulator
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  weir: RunningWeir
}

interface Test {
  teardown(close: () => unknown): void
}

let opened: Promise<Service> | undefined

/** Only the last file of a process may stop it. */
export function openService(): Promise<Service> {
  opened ??= startService()
  return opened
}

async function startService(): Promise<Service> {
  const dataDir = tempDir(root)
  const emulator = await startEmulator()
  root.teardown(() => emulator.stop())
  const env = {
    AWS_ENDPOINT_URL: emulator.url,
    AWS_ACCESS_KEY_ID: ownKey.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ownKey.secretAccessKey,
    WEIR_BOOTSTRAP_TOKEN: `token-${randomBytes(12).toString('hex')}`,
    WEIR_DECIDE_PORT: '0',
    WEIR_FILE_DIRECTORY: tempDir(root),
    WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8',
    WEIR_LIST_DIRECTORY: tempDir(root),
    WEIR_LOG_LEVEL: 'info',
  }
  const service = { emulator, dataDir, env, weir: await startWeir(dataDir, env) }
  root.teardown(() => service.weir.stop())
  return service
}

/**
 * The service with a new account. What could disturb the next one is deleted after the test: host names belong to one edge.
 */
export async function openAccount(t: Test): Promise<Service> {
  const service = await openService()
  const { adminUrl, adminToken } = readRuntime(service.dataDir)!
  const command = { command: 'account create', name: 'test', json: 'true' }
  const made = JSON.parse(await sendAdminCommand(adminUrl, adminToken, command))
  const { account_id: accountId, token } = made as { account_id: string; token: string }
  const api = openClient({ url: service.weir.url, token })
  t.teardown(async () => {
    for (const kind of [api.tcpEdge, api.eventSubscription, api.eventDestination])
      for await (const { id } of kind.list()) await kind.delete(id)
  })
  return { ...service, weir: { ...service.weir, accountId, token, api } }
}

/**
 * A deployment as `openDeployment` makes it, in a new account of the service; its streams are empty again. The ids of
 * messages are those of all tests: each publishes under a name of its own.
 */
export async function openShared(t: Test): Promise<Deployment> {
  const service = await openAccount(t)
  const { emulator, weir } = service
  await emulator.client.clearFaults()
  const deployment = { ...service, ...(await configure(weir.api, emulator)) }
  await untilInUse(weir)
  return deployment
}

/** Runs a command on this directory. */
export async function weirDoes(dataDir: string, ...args: string[]): Promise<{ code: number; text: string }> {
  const { child, output } = run('programs/main.js', args, { WEIR_DATA_DIR: dataDir })
  const [code] = await once(child, 'close')
  return { code, text: output() }
}
