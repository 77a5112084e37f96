/**
 * Start here: the local `nats-server`, with its store in the data directory. The caller holds the lock of that directory.
 *
 * Two servers on one store lose acknowledged messages, and the server itself takes no lock. So:
 * - Its process id, start time and port are stored in the data directory. A server left over by a killed Weir is
 *   recognized by process id *and* start time, and is ended before another one starts. No other process is ever ended.
 * - It ends when Weir ends, however that happens: a watcher process reads from a pipe that only Weir holds, and
 *   terminates the server when the pipe closes. A line written to the pipe dismisses the watcher after the server ended.
 * - It has its own process group: Ctrl-C signals the whole group of a terminal, and the other processes still have to
 *   store and acknowledge what they hold. It is closed after them.
 *
 * If it ends before `close`, it is restarted on the same port. Later starts of Weir use the same port, too, because
 * clients are configured with it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { monotonicMs, randomToken, sleep } from '../../ground/core/clock.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { VersionReports } from '../../ground/nats/server-versions.js'
import { end, endLeftover } from './ending.js'
import { readPort, readServerRecord, removeServerRecord, writePort, writeServerRecord } from './files.js'
import { natsServerMissing } from './find-nats-server.mjs'
import { LocalLogins, localNatsDir, loginFile } from './logins.js'
import { accountsConfig, moveStore, type NatsAccess, usersOf } from './nats-access.js'
import { expectSyncAlways, freePort, isPortFree, readGreeting } from './nats-probe.js'
import { failureReport, ServerStderr } from './nats-stderr.js'
import { processStart } from './process-start.mjs'
import {
  configPath,
  logPath,
  type ServerStorage,
  serverName,
  storePath,
  writeConfig,
} from './server-config.js'
import { StorePlace } from './store-disk.js'
import { StoreWatch, systemAccount, systemAccountOf } from './store-watch.js'

interface NatsServerOptions extends ServerStorage {
  /** The program's path; if undefined, opening fails with instructions to get one. */
  readonly executable: string | undefined
  /** Default: that of this process. */
  readonly environment?: NodeJS.ProcessEnv
  readonly dataDir: string
  /** 0: the port of the last start, or any free one. */
  readonly port: number
  /** Only these users may connect. */
  readonly access: NatsAccess
  readonly occurrences: Occurrences
}

const probeDelayMs = 25
const restartDelayMs = 100
const restartDelayMaxMs = 5_000
/** After running this long, a server is restarted with the shortest delay again. */
const wellAfterMs = 10_000
const firstStartsMax = 5
/** The end of a server that another process has stopped by a signal. */
const cleanExit = 'exit code 0'

/**
 * The server replaces the shell, so `$$` is its process id. Only the server has the standard error, which therefore
 * closes when it ends.
 */
const withWatcher =
  'exec 3<&0; { read -r ended <&3 || kill -TERM $$; } 2>/dev/null & exec "$@" </dev/null >/dev/null 3<&-'

/** Starts the server and resolves when it answers. */
export async function openNatsServer(options: NatsServerOptions): Promise<NatsServer> {
  if (options.executable === undefined) throw new Error(natsServerMissing)
  if (options.syncsAlways) expectSyncAlways(options.executable, options.environment)
  const dir = localNatsDir(options.dataDir)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const leftover = readServerRecord(dir)
  if (leftover !== undefined) await endLeftover(leftover, options.occurrences)
  moveStore(storePath(dir), options.access.streamsOf)
  const server = new NatsServer(options.executable, dir, options)
  await server.open(readPort(dir) ?? leftover?.port)
  return server
}

export class NatsServer {
  readonly #executable: string
  readonly #dir: string
  readonly #options: NatsServerOptions
  readonly #closing = new AbortController()
  readonly #logins: LocalLogins
  readonly #versions: VersionReports
  #port = 0
  #child: ChildProcess | undefined
  #stderr: ServerStderr | undefined
  #up = false
  #supervision: Promise<void> = Promise.resolve()
  readonly #systemPassword = randomToken(24)
  #store: StoreWatch | undefined
  #isRestarting = false
  readonly #place: StorePlace
  /** Why it is not started again. */
  #obstacle: string | undefined

  constructor(executable: string, dir: string, options: NatsServerOptions) {
    this.#executable = executable
    this.#dir = dir
    this.#options = options
    this.#place = new StorePlace(dir, storePath(dir))
    this.#versions = new VersionReports(options.occurrences)
    this.#logins = new LocalLogins(dir, usersOf(options.access))
  }

  get port(): number {
    return this.#port
  }

  /** The address for a user, including the password. */
  urlOf(user: string): string {
    return this.#logins.addressOf(user, this.#port)
  }

  /** The file of that address, in which it is replaced. */
  urlFileOf(user: string): string {
    return loginFile(this.#dir, user)
  }

  /** Is it running, and did it answer since it was started? */
  isUp(): boolean {
    return this.#up
  }

  /** Retries a few times: another process can take a free port just before it is used. */
  async open(previousPort: number | undefined): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      this.#port = await this.#choosePort(previousPort)
      this.#configure()
      const ended = this.#spawn()
      if (await this.#answers()) {
        writePort(this.#dir, this.#port)
        this.#logins.write(this.#port)
        this.#logins.watch(() => this.#takeLogins())
        if (previousPort !== undefined && previousPort !== this.#port)
          this.#options.occurrences.natsServerMoved({ port: this.#port, port_before: previousPort })
        this.#place.note()
        this.#supervision = this.#supervise(ended)
        this.#watchStore()
        return
      }
      await ended
      const { reason, output } = failureReport(logPath(this.#dir), this.#stderr)
      if (tries === firstStartsMax)
        throw new Error(`The local nats-server does not start: ${reason} (See ${output.join(', ')}.)`)
    }
  }

  /** Why nothing can be stored; undefined if all is well. */
  get problem(): string | undefined {
    return this.#obstacle ?? this.#store?.problem
  }

  #watchStore(): void {
    this.#store = new StoreWatch({
      port: this.#port,
      password: this.#systemPassword,
      dir: storePath(this.#dir),
      serverPid: () => (this.#up ? this.#child?.pid : undefined),
      occurrences: this.#options.occurrences,
      restart: () => {
        this.#isRestarting = true
        return this.#end()
      },
    })
  }

  async #end(): Promise<void> {
    if (this.#child?.pid !== undefined) await end(this.#child.pid, processStart(this.#child.pid))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#logins.close()
    await this.#end()
    await this.#store?.close()
    await this.#supervision
    removeServerRecord(this.#dir)
  }

  async #choosePort(previousPort: number | undefined): Promise<number> {
    const { port } = this.#options
    if (port !== 0) {
      if (await isPortFree(port)) return port
      throw new Error(
        `Port ${port} (WEIR_NATS_PORT) for the local nats-server is taken: set it to a free one, or to 0 for any.`,
      )
    }
    return previousPort !== undefined && (await isPortFree(previousPort)) ? previousPort : await freePort()
  }

  /** Restarts the server whenever it ends, until `close`. */
  async #supervise(firstEnded: Promise<string>): Promise<void> {
    const { occurrences } = this.#options
    let ended = firstEnded
    let wasUp = true
    let startedMs = monotonicMs()
    for (let delayMs = restartDelayMs; ; delayMs = Math.min(delayMs * 2, restartDelayMaxMs)) {
      const how = await ended
      if (this.#closing.signal.aborted) return
      if (this.#isRestarting) this.#isRestarting = false
      else if (how === cleanExit) occurrences.natsServerStopped({ port: this.#port })
      else {
        const report = { how, port: this.#port, ...failureReport(logPath(this.#dir), this.#stderr) }
        if (wasUp) occurrences.natsServerEnded(report)
        else occurrences.natsServerUnstartable(report)
      }
      if (monotonicMs() - startedMs > wellAfterMs) delayMs = restartDelayMs
      await sleep(delayMs, this.#closing.signal)
      await this.#untilStartable()
      if (this.#closing.signal.aborted) return
      startedMs = monotonicMs()
      ended = this.#spawn()
      wasUp = await this.#answers()
      if (!wasUp) continue
      this.#place.note()
      this.#store?.serverStarted()
    }
  }

  /** Resolves when its store is there and its files can be written. */
  async #untilStartable(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const obstacle = await this.#place.obstacle(() => this.#configure())
      if (obstacle !== undefined && this.#obstacle === undefined)
        this.#options.occurrences.natsServerWaits({ reason: obstacle })
      this.#obstacle =
        obstacle && `The local nats-server does not run. ${obstacle} Mend that: it is started then.`
      if (obstacle === undefined) return
      await sleep(restartDelayMaxMs, signal)
    }
  }

  #configure(name?: string): void {
    this.#logins.read()
    const accounts = accountsConfig(this.#options.access.accounts, (user) => this.#logins.of(user))
    const all = { ...accounts, [systemAccount]: systemAccountOf(this.#systemPassword) }
    writeConfig(this.#dir, this.#port, this.#options, all, name)
  }

  /** The server loads its configuration again, and closes only the connections of logins that are no longer in it. */
  #takeLogins(): void {
    if (!this.#up || !this.#logins.read()) return
    this.#configure(serverName(this.#dir))
    this.#child?.kill('SIGHUP')
    this.#options.occurrences.natsLoginsLoaded({ port: this.#port })
  }

  /** Starts the process; the promise resolves with how it ended. */
  #spawn(): Promise<string> {
    const args = ['-c', withWatcher, 'sh', this.#executable, '-c', configPath(this.#dir)]
    const { environment: env } = this.#options
    const child = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'pipe'], detached: true, env })
    const stderr = new ServerStderr(join(this.#dir, 'server.stderr'), child.stderr)
    this.#child = child
    this.#stderr = stderr
    if (child.pid !== undefined) {
      try {
        writeServerRecord(this.#dir, { pid: child.pid, port: this.#port })
      } catch {
        // No later start would find it. The next attempt waits until its files can be written.
        child.kill('SIGKILL')
      }
    }
    child.stdin.on('error', () => {})
    return new Promise((resolve) => {
      const onEnd = (how: string) => {
        this.#up = false
        child.stdin.end('ended\n')
        void stderr.ended().then(() => resolve(how))
      }
      child.once('error', (error) => onEnd(error.message))
      child.once('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`))
    })
  }

  /** Waits for an answer while the process lives: loading a large store takes long. False if the process ended. */
  async #answers(): Promise<boolean> {
    const child = this.#child
    const name = serverName(this.#dir)
    while (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      const greeting = await readGreeting(this.#port)
      if (greeting !== undefined && greeting.server_name === name) {
        this.#up = true
        this.#versions.note(greeting.version)
        this.#options.occurrences.natsServerStarted({ port: this.#port, serverPid: child.pid })
        return true
      }
      await sleep(probeDelayMs)
    }
    return false
  }
}
