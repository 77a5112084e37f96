/** Reports of a connection: disconnects, reconnects, errors, and the server's version. */
import type { NatsConnection } from '@nats-io/nats-core'
import type { NatsOptions } from './options.js'
import { VersionReports } from './server-versions.js'

export class NatsStatus {
  readonly #connection: NatsConnection
  readonly #occurrences: NatsOptions['occurrences']
  readonly #versions: VersionReports
  readonly #reconnected = new Set<() => void>()
  #isUp = true

  /** `connection` is established. */
  constructor(
    connection: NatsConnection,
    { occurrences, isVersionReported }: Pick<NatsOptions, 'occurrences' | 'isVersionReported'>,
  ) {
    this.#connection = connection
    this.#occurrences = occurrences
    this.#versions = new VersionReports(occurrences, isVersionReported)
    this.#versions.note(connection.info?.version)
    // The iterator ends with the connection; its errors add nothing to what the connection reports.
    this.#follow().catch(() => {})
  }

  get isConnected(): boolean {
    return this.#isUp && !this.#connection.isClosed()
  }

  /** Calls back after each reconnect; the result unsubscribes. */
  onReconnect(listener: () => void): () => void {
    this.#reconnected.add(listener)
    return () => this.#reconnected.delete(listener)
  }

  async #follow(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'error') this.#occurrences?.natsError({ reason: status.error.message })
      if (status.type === 'disconnect') {
        this.#isUp = false
        this.#occurrences?.natsDisconnected({ server: status.server })
      }
      if (status.type !== 'reconnect') continue
      this.#isUp = true
      this.#occurrences?.natsReconnected({ server: status.server })
      this.#versions.note(this.#connection.info?.version)
      for (const listener of this.#reconnected) listener()
    }
  }
}
