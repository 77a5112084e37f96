/** The programs of the demo: the AWS emulator and `weir serve`, in a temporary directory, on free ports. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomToken } from '../core/clock.js'
import { programFile } from '../core/package.js'
import type { ReleaseStack } from '../core/release.js'
import { type EmulatorClient, emulatorClient } from '../emulator/client.js'
import type { KeyPair } from '../emulator/wire.js'
import { type Nats, openNats } from '../nats/nats.js'
import { readUserUrl } from '../nats-server/nats-access.js'
import { childEnvironment, settingNames } from '../process/settings.js'
import { Program } from './child-process.js'

export interface Services {
  readonly dir: string
  readonly apiUrl: string
  readonly natsUrl: string
  readonly emulatorUrl: string
  /** Key of the first account. */
  readonly token: string
  readonly accountId: string
  readonly aws: EmulatorClient
  readonly awsKey: KeyPair
  /** As an ingress node. */
  readonly nats: Nats
  /** As an operator, to look into streams. */
  readonly inside: Nats
  /** Runs `weir account create` while the service runs. */
  createAccount(name: string): Promise<{ accountId: string; token: string }>
  /** Resolves when a program has ended by itself. */
  readonly broken: Promise<string>
}

/** The settings of the caller are not for the demo's programs. */
const unset = Object.fromEntries(settingNames.map((name) => [name, '']))

/** Everything is closed, and its directory removed, with `release`. */
export async function openServices(
  module: string,
  release: ReleaseStack,
  stopping: AbortSignal,
): Promise<Services> {
  const dir = mkdtempSync(join(tmpdir(), 'weir-demo-'))
  release.add(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }))
  const logs = join(dir, 'logs')
  mkdirSync(logs)
  const start = (name: string, program: string, args: string[], settings: Record<string, string> = {}) => {
    stopping.throwIfAborted()
    const logFile = join(logs, `${name.replaceAll(' ', '-')}.log`)
    const environment = childEnvironment([], { ...unset, ...settings })
    return release.own(new Program({ name, module: program, args, environment, logFile }))
  }

  const emulator = start('aws emulator', programFile('emulator'), ['--port', '0', '--with-parent'])
  const emulatorUrl = await emulator.said('aws: ')
  const aws = emulatorClient(emulatorUrl)
  const awsKey = { accessKeyId: 'AKIAWEIRDEMO00000001', secretAccessKey: randomToken(30) }
  await aws.addKey(awsKey)

  const token = randomToken(24)
  const settings = {
    WEIR_DATA_DIR: join(dir, 'data'),
    WEIR_PORT: '0',
    WEIR_RATE_LIMIT: '0',
    WEIR_LOG_LEVEL: 'warn',
    WEIR_BOOTSTRAP_TOKEN: token,
    AWS_ENDPOINT_URL: emulatorUrl,
    // Weir itself assumes roles with these.
    AWS_ACCESS_KEY_ID: awsKey.accessKeyId,
    AWS_SECRET_ACCESS_KEY: awsKey.secretAccessKey,
    AWS_PROFILE: '',
  }
  const weir = start('weir serve', module, ['serve'], settings)
  const natsUrl = await weir.said('nats: ')
  const apiUrl = await weir.said('API: ')
  const nats = release.own(await openNats({ servers: [natsUrl], name: 'weir demo', replicas: 1 }))
  const adminUrl = readUserUrl(join(settings.WEIR_DATA_DIR, 'nats'), 'admin') ?? ''
  const inside = release.own(await openNats({ servers: [adminUrl], name: 'weir demo', replicas: 1 }))
  return {
    dir,
    apiUrl,
    natsUrl,
    emulatorUrl,
    token,
    accountId: await weir.said('account: '),
    aws,
    awsKey,
    nats,
    inside,
    async createAccount(name) {
      const command = start(
        `weir account create ${name}`,
        module,
        ['account', 'create', '--name', name],
        settings,
      )
      return { accountId: await command.said('account: '), token: await command.said('token: ') }
    },
    broken: Promise.race([
      weir.ended.then(() => `weir serve ended:\n${weir.lastLines()}`),
      emulator.ended.then(() => `The AWS emulator ended:\n${emulator.lastLines()}`),
    ]),
  }
}
