/** The programs of the demo: the AWS emulator and `weir serve`, in a temporary directory, on free ports. */

import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readUserUrl } from '../../delivery/nats-server/nats-access.js'
import { randomToken, within } from '../../ground/core/clock.js'
import { forkOptions, programFile } from '../../ground/core/package.js'
import type { ReleaseStack } from '../../ground/core/release.js'
import { type Nats, openNats } from '../../ground/nats/nats.js'
import { childEnvironment, settingNames } from '../../management/process/settings.js'
import { type EmulatorClient, emulatorClient } from '../emulator/client.js'
import type { KeyPair } from '../emulator/wire.js'

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
  /** Runs `weir console`: a link that signs in to the web console once. */
  signInLink(): Promise<string>
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
    signInLink: () => start('weir console', module, ['console'], settings).said('console: '),
    broken: Promise.race([
      weir.ended.then(() => `weir serve ended:\n${weir.lastLines()}`),
      emulator.ended.then(() => `The AWS emulator ended:\n${emulator.lastLines()}`),
    ]),
  }
}

/** A program that the demo runs. It ends when the demo does, even if the demo is killed. */
interface ProgramOptions {
  readonly name: string
  readonly module: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** Gets its output. */
  readonly logFile: string
}

/** Later than each program itself gives up: `weir serve` says what is missing. */
const readyTimeoutMs = 600_000
const endTimeoutMs = 25_000

/**
 * A running program, connected by its standard input and an IPC channel. Both close when this process ends, and the
 * program ends when one of them closes. A signal would come in addition to that of Ctrl-C.
 */
class Program {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #lines: string[] = []
  /** Emits `change` for each line, and when the program has ended. */
  readonly #changes = new EventEmitter()
  /** Resolves when it has ended. */
  readonly ended: Promise<void>

  constructor({ name, module, args, environment, logFile }: ProgramOptions) {
    this.#name = name
    this.#child = spawn(process.execPath, [...forkOptions(), module, ...args], {
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    })
    this.#child.stdin?.on('error', () => {})
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', () => resolve())
      this.#child.once('error', () => resolve())
    })
    const log = createWriteStream(logFile)
    log.on('error', () => {})
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream! }).on('line', (line) => {
        log.write(`${line}\n`)
        this.#lines.push(line)
        if (this.#lines.length > 200) this.#lines.shift()
        this.#changes.emit('change')
      })
    }
    void this.ended.then(() => {
      this.#changes.emit('change')
      log.end()
    })
  }

  /** Waits for a line that begins with `prefix`; returns the rest of it. */
  said(prefix: string): Promise<string> {
    return within(readyTimeoutMs, this.#find(prefix), `${this.#name} does not get ready.`)
  }

  async #find(prefix: string): Promise<string> {
    for (;;) {
      const line = this.#lines.find((each) => each.startsWith(prefix))
      if (line !== undefined) return line.slice(prefix.length)
      const { exitCode, signalCode } = this.#child
      if (exitCode !== null || signalCode !== null)
        throw new Error(`${this.#name} ended before it was ready:\n${this.lastLines()}`)
      await once(this.#changes, 'change')
    }
  }

  lastLines(): string {
    return this.#lines.slice(-5).join('\n')
  }

  async close(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    this.#child.stdin?.end()
    try {
      await within(endTimeoutMs, this.ended, 'late')
    } catch {
      this.#child.kill('SIGKILL')
      await this.ended
    }
  }
}
