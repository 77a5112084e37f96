/** The programs of the demo: the AWS emulator and `weir serve`, in a temporary directory, on free ports. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readUserUrl } from '../../delivery/nats-server/logins.js'
import { monotonicMs, randomToken, sleep, within } from '../../ground/core/clock.js'
import { forkOptions, programFile } from '../../ground/core/package.js'
import type { ReleaseStack } from '../../ground/core/release.js'
import { openNats } from '../../ground/nats/nats.js'
import { settingNames } from '../../management/process/setting-layers.js'
import { childEnvironment } from '../../management/process/settings.js'
import type { DeadLetter } from '../../words/shape/dead-letter.js'
import { emulatorClient } from '../emulator/client.js'

export type Services = Awaited<ReturnType<typeof openServices>>

/** The settings of the caller are not for the demo's programs. */
const unset = Object.fromEntries(settingNames.map((name) => [name, '']))

/** Everything is closed, and its directory removed, with `release`. */
export async function openServices(module: string, release: ReleaseStack, stopping: AbortSignal) {
  const dir = mkdtempSync(join(tmpdir(), 'weir-demo-'))
  release.add(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }))
  const logs = join(dir, 'logs')
  mkdirSync(logs)
  const start = (name: string, program: string, args: string[], settings: Record<string, string> = {}) => {
    stopping.throwIfAborted()
    const logFile = join(logs, `${name.replaceAll(/\W+/g, '-')}.log`)
    const environment = childEnvironment([], { ...unset, ...settings })
    return release.own(new Program(name, [program, ...args], environment, logFile))
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
  const weirCommand = (...words: string[]) => start(`weir ${words.join(' ')}`, module, words, settings)
  const weir = weirCommand('serve')
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
    /** Key of the first account. */
    token,
    accountId: await weir.said('account: '),
    aws,
    awsKey,
    /** As an ingress node. */
    nats,
    /** As an operator, to look into streams. */
    inside,
    ...commandsOf(weirCommand),
    /** Resolves when a program has ended by itself. */
    broken: Promise.race([
      weir.ended.then(() => `weir serve ended:\n${weir.lastLines()}`),
      emulator.ended.then(() => `The AWS emulator ended:\n${emulator.lastLines()}`),
    ]),
  }
}

/** Commands of an operator, while the service runs. */
const commandsOf = (command: (...words: string[]) => Program) => ({
  async createAccount(name: string) {
    const created = command('account', 'create', '--name', name)
    return { accountId: await created.said('account: '), token: await created.said('token: ') }
  },
  /** The records that were set aside, newest first. */
  async badRecords() {
    const words = ['dead', 'list', '--all', '--type', 'record', '--each', '--json']
    const lines = (await command(...words).result()).split('\n')
    // The others are warnings.
    return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as DeadLetter)
  },
  /** A link that signs in to the web console once. */
  signInLink: () => command('console').said('console: '),
})

/** Later than each program itself gives up: `weir serve` says what is missing. */
const readyTimeoutMs = 600_000
const lookEveryMs = 50
const endTimeoutMs = 25_000

/**
 * A running program, whose output is a file. It is connected by its standard input and an IPC channel: both close when this
 * process ends, even if that is killed, and the program ends when one of them closes. A signal would come in addition to that
 * of Ctrl-C.
 */
class Program {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #logFile: string
  #hasEnded = false
  /** Resolves when it has ended. */
  readonly ended: Promise<unknown>

  constructor(name: string, command: readonly string[], env: NodeJS.ProcessEnv, logFile: string) {
    this.#name = name
    this.#logFile = logFile
    const log = openSync(logFile, 'a')
    this.#child = spawn(process.execPath, [...forkOptions(), ...command], {
      env,
      stdio: ['pipe', log, log, 'ipc'],
    })
    closeSync(log)
    this.#child.stdin?.on('error', () => {})
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', resolve).once('error', resolve)
    })
    void this.ended.then(() => {
      this.#hasEnded = true
    })
  }

  /** Waits for a line that begins with `prefix`; returns the rest of it. */
  async said(prefix: string): Promise<string> {
    const wanted = new RegExp(`^${prefix}(.*)\n`, 'm')
    for (const startedMs = monotonicMs(); monotonicMs() - startedMs < readyTimeoutMs; ) {
      // Asked before the file is read: the line may be the last one.
      const isLastLook = this.#hasEnded
      const [, rest] = wanted.exec(this.#output()) ?? []
      if (rest !== undefined) return rest
      if (isLastLook) throw new Error(`${this.#name} ended before it was ready:\n${this.lastLines()}`)
      await sleep(lookEveryMs)
    }
    throw new Error(`${this.#name} does not get ready.`)
  }

  /** All its output, when it has ended. */
  async result(): Promise<string> {
    await this.ended
    if (this.#child.exitCode !== 0) throw new Error(`${this.#name} failed:\n${this.lastLines()}`)
    return this.#output()
  }

  lastLines(): string {
    return this.#output().trimEnd().split('\n').slice(-5).join('\n')
  }

  #output(): string {
    return readFileSync(this.#logFile, 'utf8')
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
