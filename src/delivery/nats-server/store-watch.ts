/**
 * Looks whether the local nats-server stores, and restarts it when a fault of its disk is over.
 *
 * A server takes a stream out of service after an error of its disk (no space left, read-only, no more files): nothing is
 * stored in it until the server starts again, also when the disk is well, and publishers get no answer. Only its health
 * shows it: information about the stream is given as ever.
 */
import { jsonOf } from '../../ground/core/bytes.js'
import { every, monotonicMs, type Timer } from '../../ground/core/clock.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { type Nats, openNats } from '../../ground/nats/nats.js'
import { type Lack, lackOf, roomBytesMin } from './store-disk.js'

const lookEveryMs = 5_000
const answerWithinMs = 2_000
/** From one restart to the next; doubled after each that did not help. */
const restartAfterMs = 5_000
const restartAfterMaxMs = 160_000

const healthSubject = '$SYS.REQ.SERVER.PING.HEALTHZ'
/** Other reasons of bad health, such as that a store is still being read, pass. */
const storeFault =
  /write error|no space left|read-only file system|too many open files|quota exceeded|input\/output error|not enabled|disabled/i

/** Asks about the health of the server. It may know all of the server, so its password is of one process alone. */
export const systemAccount = 'SYS'
const systemUser = 'system'
export const systemAccountOf = (password: string) => ({ users: [{ user: systemUser, password }] })

interface StoreWatchOptions {
  /** That of the server. */
  readonly port: number
  /** Those of the user of the system account. */
  readonly password: string
  /** Where the server stores. */
  readonly dir: string
  /** The process of the server, if it runs. */
  readonly serverPid: () => number | undefined
  readonly restart: () => Promise<void>
  readonly occurrences: Pick<Occurrences, 'natsStoreFailed' | 'natsStoreRestarted' | 'natsStoresFailing'>
}

export class StoreWatch {
  readonly #options: StoreWatchOptions
  readonly #timer: Timer
  #nats: Promise<Nats> | undefined
  /** The server's report about its streams, and the fault of the disk. */
  #fault: string | undefined
  #lack: Lack | undefined
  /** Since the last restart, nothing could be written in the directory, of which the server itself may know nothing. */
  #unwritable: string | undefined
  #restartedMs = Number.NEGATIVE_INFINITY
  #pauseMs = restartAfterMs
  #isClosed = false

  constructor(options: StoreWatchOptions) {
    this.#options = options
    this.#timer = every(lookEveryMs, () => this.#look())
  }

  /** Why nothing can be stored, and what becomes of it; undefined if all is well. */
  get problem(): string | undefined {
    const fault = this.#fault && `The local nats-server has taken a stream out of service (${this.#fault}).`
    const lack = this.#lack
    if (lack === undefined) {
      const past = fault ?? (this.#unwritable && `${this.#unwritable} That is over.`)
      return past && `${past} The local nats-server is being restarted.`
    }
    return `${fault ?? 'The local nats-server cannot store.'} ${lack.text} ${this.#remedyOf(lack)}`
  }

  /** A disk can't be unmounted while a program has files of it open. */
  #remedyOf({ isUnwritable }: Lack): string {
    if (!isUnwritable) return this.#fault === undefined ? 'Make room.' : 'Make room: it is restarted then.'
    const pid = this.#options.serverPid()
    const unmounting =
      pid === undefined
        ? ''
        : ` If its disk must be unmounted for that, end this process first (${pid}): Weir starts it again when files can be written.`
    return `Mend that: it is restarted then.${unmounting}`
  }

  /** By another than this watch: what was wrong before is over. */
  serverStarted(): void {
    this.#unwritable = undefined
    this.#fault = undefined
    this.#measure()
  }

  #measure(): void {
    this.#options.occurrences.natsStoresFailing({}, this.problem === undefined ? 0 : 1)
  }

  async #look(): Promise<void> {
    const { occurrences, dir } = this.#options
    const before = this.problem
    const fault = await this.#faultOfServer()
    if (this.#isClosed) return
    this.#fault = fault
    // A restart needs to be worth it, so a whole file must fit then.
    this.#lack = await lackOf(dir, fault === undefined ? 1 : roomBytesMin / 4)
    if (this.#isClosed) return
    if (this.#lack?.isUnwritable) this.#unwritable = this.#lack.text
    const { problem } = this
    this.#measure()
    if (problem !== undefined && before === undefined) occurrences.natsStoreFailed({ reason: problem })
    const reason = fault ?? this.#unwritable
    if (reason === undefined) this.#pauseMs = restartAfterMs
    else if (this.#lack === undefined && this.#options.serverPid() !== undefined) await this.#restart(reason)
  }

  async #restart(reason: string): Promise<void> {
    if (monotonicMs() - this.#restartedMs < this.#pauseMs) return
    if (Number.isFinite(this.#restartedMs)) this.#pauseMs = Math.min(this.#pauseMs * 2, restartAfterMaxMs)
    this.#restartedMs = monotonicMs()
    this.#unwritable = undefined
    this.#options.occurrences.natsStoreRestarted({ reason })
    await this.#options.restart()
  }

  /** Undefined if the server is well, or does not answer: that shows elsewhere. */
  async #faultOfServer(): Promise<string | undefined> {
    try {
      const { port, password } = this.#options
      const url = `nats://${systemUser}:${password}@127.0.0.1:${port}`
      this.#nats ??= openNats({ servers: [url], name: 'weir serve', replicas: 1, isUpNow: true })
      const nats = await this.#nats.catch((error: unknown) => {
        this.#nats = undefined
        throw error
      })
      const answer = await nats.request(healthSubject, '', answerWithinMs)
      const { data } = jsonOf<{ readonly data?: { readonly error?: string } }>(answer)
      return data?.error !== undefined && storeFault.test(data.error) ? data.error : undefined
    } catch {
      return this.#fault
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer.stop()
    const nats = await this.#nats?.catch(() => undefined)
    await nats?.close()
  }
}
