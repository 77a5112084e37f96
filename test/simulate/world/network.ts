/** Connections of simulated processes to model servers: bytes take their time, and what is under way is lost when one breaks. */
import type { ClientConnection, ClientEnd, ModelServer } from '../nats/server.js'
import type { Dial } from '../nats/transport.js'
import type { Random } from './random.js'
import { type Process, type Scheduler, world } from './scheduler.js'

/** A server and how it can be reached. */
export interface Host {
  readonly server: ModelServer
  isUp: boolean
  /** Nothing goes in or out before. */
  frozenUntilMs: number
}

/** Between two processes of a deployment. */
const latencyMinMs = 0.2
const latencyMaxMs = 2

export class Network {
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #links = new Set<Link>()
  /** By address. */
  readonly hosts = new Map<string, Host>()

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler
    this.#random = random
  }

  /** For whichever process asks. */
  readonly dial: Dial = (end, address) => {
    const host = this.hosts.get(address)
    if (host === undefined || !host.isUp) return undefined
    const link = new Link({
      scheduler: this.#scheduler,
      host,
      process: this.#scheduler.current,
      end,
      delayMs: () => this.#random.between(latencyMinMs, latencyMaxMs),
    })
    this.#links.add(link)
    return link
  }

  /** Breaks all connections of which this is true. */
  break(isBroken: (process: Process, host: Host) => boolean): void {
    for (const link of this.#links) {
      if (!isBroken(link.process, link.host)) continue
      link.break()
      this.#links.delete(link)
    }
  }
}

interface LinkParts {
  readonly scheduler: Scheduler
  readonly host: Host
  readonly process: Process
  readonly end: Required<ClientEnd>
  readonly delayMs: () => number
}

/** One connection. What is sent in a direction arrives in its order. */
class Link {
  readonly #parts: LinkParts
  readonly #server: ClientConnection
  #isOpen = true
  /** When the last bytes in each direction arrive. */
  #upMs = 0
  #downMs = 0

  constructor(parts: LinkParts) {
    this.#parts = parts
    this.#server = parts.host.server.connect({
      receive: (bytes) => this.#down(() => parts.end.receive(bytes)),
    })
  }

  get process(): Process {
    return this.#parts.process
  }

  get host(): Host {
    return this.#parts.host
  }

  take(bytes: Uint8Array): void {
    this.#up(() => this.#server.take(bytes))
  }

  gone(): void {
    this.#up(() => this.#server.gone())
    this.#isOpen = false
  }

  /** What is under way does not arrive. */
  break(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#server.gone()
    const { scheduler, end, process } = this.#parts
    scheduler.after(0, () => end.lost(), process)
  }

  #arrival(lastMs: number): number {
    const { scheduler, host, delayMs } = this.#parts
    return Math.max(lastMs, scheduler.nowMs + delayMs(), host.frozenUntilMs)
  }

  #up(arrive: () => void): void {
    if (!this.#isOpen) return
    const { scheduler } = this.#parts
    this.#upMs = this.#arrival(this.#upMs)
    scheduler.after(this.#upMs - scheduler.nowMs, arrive, world)
  }

  #down(arrive: () => void): void {
    if (!this.#isOpen) return
    const { scheduler, process } = this.#parts
    this.#downMs = this.#arrival(this.#downMs)
    const deliver = (): void => {
      if (this.#isOpen) arrive()
    }
    scheduler.after(this.#downMs - scheduler.nowMs, deliver, process)
  }
}
