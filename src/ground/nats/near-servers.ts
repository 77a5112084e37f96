/**
 * Connections to each server of a cluster, besides the main one. A client reaches what another server leads through its own
 * server and a route to the other: two servers read and write each byte once more. What is much, messages of consumers and
 * packs, therefore takes a connection to the leader.
 *
 * Nothing depends on them: without one, everything goes through the main connection.
 */
import { type JetStreamClient, jetstream } from '@nats-io/jetstream'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import { monotonicMs, sleep } from '../core/clock.js'
import { connectionBy, connectionOptions, type NatsOptions, NatsStatus } from './connection.js'
import { callTimeoutMs } from './retry.js'

/** A way to streams and consumers. */
interface Way {
  readonly jetstream: JetStreamClient
  /** Aborted when its server is lost; undefined for the main connection, which finds another server by itself. */
  readonly lost?: AbortSignal
}

/** How long the leader of a stream is taken for granted. */
const leaderKnownMs = 60_000
/** A server that is there accepts within milliseconds. */
const openWithinMs = 1_000
/** One that is away is tried this often. */
const openAgainMs = 500

interface KnownLeader {
  server: string | undefined
  /** Monotonic. */
  askedMs: number
}

export class NearServers {
  readonly #main: NatsConnection
  readonly #mainWay: Way
  readonly #options: NatsOptions
  readonly #leaderOf: (stream: string) => Promise<string | undefined>
  readonly #leaders = new Map<string, KnownLeader>()
  readonly #near = new Set<NearServer>()
  #opening: Promise<unknown> | undefined
  readonly #close = new AbortController()

  /** `leaderOf` asks for the leader of a stream; undefined if it is not known. */
  constructor(
    main: NatsConnection,
    mainJetstream: JetStreamClient,
    options: NatsOptions,
    leaderOf: (stream: string) => Promise<string | undefined>,
  ) {
    this.#main = main
    this.#mainWay = { jetstream: mainJetstream }
    this.#options = options
    this.#leaderOf = leaderOf
  }

  /** To a server, by its name. */
  to(server: string | undefined): Way {
    if (server === undefined || this.#main.info?.server_name === server) return this.#mainWay
    void this.opened()
    for (const near of this.#near) if (near.isTo(server)) return near.way
    return this.#mainWay
  }

  /** To the leader of a stream, as far as it is known: it is asked for meanwhile. */
  toLeaderOf(stream: string): Way {
    if (this.#main.info?.cluster === undefined) return this.#mainWay
    let leader = this.#leaders.get(stream)
    if (leader === undefined || monotonicMs() - leader.askedMs > leaderKnownMs) {
      leader = { server: leader?.server, askedMs: monotonicMs() }
      this.#leaders.set(stream, leader)
      void this.#ask(stream, leader)
    }
    return this.to(leader.server)
  }

  async #ask(stream: string, leader: KnownLeader): Promise<void> {
    try {
      leader.server = await this.#leaderOf(stream)
    } catch {
      // Asked again in a minute. What is sent meanwhile gets there, too.
    }
  }

  /** Resolves when there is a connection to each server, or after a moment. Who keeps the way that it chooses waits for that. */
  async opened(): Promise<void> {
    if (this.#main.info?.cluster === undefined || this.#options.servers.length === 1) return
    this.#opening ??= Promise.race([this.#openAll(), sleep(openWithinMs)])
    await this.#opening
  }

  async #openAll(): Promise<void> {
    const { servers = [], ...options } = connectionOptions(this.#options)
    await Promise.all([servers].flat().map((server) => this.#open({ ...options, servers: [server] })))
  }

  /** Waits until the server is there, as long as it takes; not in the library, where nothing ends the wait. */
  async #open(options: NodeConnectionOptions): Promise<void> {
    const { signal } = this.#close
    while (!signal.aborted) {
      try {
        const connection = await connectionBy(this.#options)({
          ...options,
          ignoreClusterUpdates: true,
          waitOnFirstConnect: false,
        })
        const near = new NearServer(connection, this.#options.occurrences)
        if (signal.aborted) return await near.close()
        this.#near.add(near)
        return
      } catch {
        // The main connection says what is wrong, if it gets there.
        await sleep(openAgainMs, signal)
      }
    }
  }

  async close(): Promise<void> {
    this.#close.abort()
    await Promise.all([...this.#near].map((near) => near.close()))
  }
}

/** Only errors are reported. That a server is lost, or outdated, is said by those whose main connection goes to it. */
const errorsOf = (
  occurrences: Required<NatsOptions>['occurrences'],
): Required<NatsOptions>['occurrences'] => ({
  ...occurrences,
  natsDisconnected: () => {},
  natsReconnected: () => {},
  natsServerOutdated: () => {},
  natsServersOutdated: () => {},
})

class NearServer {
  readonly #connection: NatsConnection
  readonly #status: NatsStatus
  readonly #jetstream: JetStreamClient
  #lost = new AbortController()

  constructor(connection: NatsConnection, occurrences: NatsOptions['occurrences']) {
    this.#connection = connection
    this.#jetstream = jetstream(connection, { timeout: callTimeoutMs })
    this.#status = new NatsStatus(
      connection,
      occurrences === undefined ? {} : { occurrences: errorsOf(occurrences) },
    )
    this.#status.onDisconnect(() => {
      this.#lost.abort()
      this.#lost = new AbortController()
    })
  }

  /** Is it connected to the server of this name? */
  isTo(server: string): boolean {
    return this.#status.isConnected && this.#connection.info?.server_name === server
  }

  get way(): Way {
    return { jetstream: this.#jetstream, lost: this.#lost.signal }
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}
