/** A nats-server for one test, whose store can be copied and restored while it is down. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort, readGreeting } from '../../src/delivery/nats-server/nats-probe.js'
import { localNatsServer, localNatsServerEnvironment } from '../../src/management/process/settings.js'
import { freeze } from './processes.js'
import { until } from './weir.js'

/** Arguments of a nats-server that stores in `dir`. Streams reserve more than a small disk has, and than tests write. */
export function jetstreamIn(dir: string, more = ''): string[] {
  mkdirSync(dir, { recursive: true })
  return ['-c', writeSettings(dir, more)]
}

/**
 * Writes the configuration; returns the path of its file. An old server that loads it again must find its directory there.
 */
function writeSettings(dir: string, more: string): string {
  const file = join(dir, 'nats-server.conf')
  writeFileSync(file, `jetstream { max_file_store: 1TB, store_dir: ${JSON.stringify(dir)} }\n${more}`)
  return file
}

const reloaded = 'Reloaded server configuration'

export class OwnNats {
  readonly #dir: string
  #port = 0
  #child: ChildProcess | undefined

  readonly #more: readonly string[]
  #settings: string

  /** The caller removes `dir`. `more`: further arguments of the program; `settings`: further lines of its configuration. */
  constructor(dir: string, more: readonly string[] = [], settings = '') {
    this.#dir = dir
    this.#settings = settings
    this.#more = more
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`
  }

  /** The process of the server that was started last. */
  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Always on the same port. */
  async start(port?: number): Promise<void> {
    if (this.#port === 0) this.#port = port ?? (await freePort())
    const args = [
      ...jetstreamIn(this.#dir, this.#settings),
      '-a',
      '127.0.0.1',
      '-p',
      String(this.#port),
      '-l',
      this.#log,
      ...this.#more,
    ]
    const env = localNatsServerEnvironment()
    this.#child = spawn(localNatsServer() ?? 'nats-server', args, { stdio: 'ignore', env })
    await this.#until('nats-server answers', async () => (await readGreeting(this.#port)) !== undefined)
  }

  /** Other further lines of the configuration, from the next start on. */
  rewrite(settings: string): void {
    this.#settings = settings
    writeSettings(this.#dir, settings)
  }

  /** The same, from now on. */
  async reload(settings: string): Promise<void> {
    this.rewrite(settings)
    const reloads = () => readFileSync(this.#log, 'utf8').split(reloaded).length
    const before = reloads()
    this.#child?.kill('SIGHUP')
    await this.#until('nats-server has read its configuration', () => reloads() > before)
  }

  /** A failure has the last lines of the log. */
  #until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    return until(what, holds).catch((error: Error) => {
      const log = existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : 'It has no log.'
      throw new Error(`${error.message} ${log.slice(-2_000)}`)
    })
  }

  get #log(): string {
    return join(this.#dir, 'nats-server.log')
  }

  /** SIGTERM, after which everything is on disk. */
  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** SIGSTOP: its connections stay open, and it does not answer. */
  freeze(): void {
    freeze(this.pid)
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }

  /** Copies `path` of the store of a stopped server; the result restores the copy. */
  copy(path = 'jetstream'): () => void {
    const [live, kept] = [join(this.#dir, path), join(this.#dir, 'kept', path)]
    mkdirSync(dirname(kept), { recursive: true })
    cpSync(live, kept, { recursive: true })
    return () => {
      rmSync(live, { recursive: true })
      cpSync(kept, live, { recursive: true })
    }
  }
}

/** The path of a stream's messages, without its consumers, in the store. */
export const messagesOf = (stream: string): string => join('jetstream', '$G', 'streams', stream, 'msgs')
