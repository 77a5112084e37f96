/** What a connection reports about itself: losses, returns, errors, and the server it reached. */
import type { NatsConnection } from '@nats-io/nats-core'
import type { NatsOptions } from './options.js'
import { VersionReports } from './server-2-9.js'

export class NatsStatus {
  readonly #connection: NatsConnection
  readonly #occurrences: NatsOptions['occurrences']
  readonly #versions: VersionReports
  readonly #reconnected = new Set<() => void>()
  #isUp = true

  /** The connection stands. */
  constructor(connection: NatsConnection, occurrences: NatsOptions['occurrences']) {
    this.#connection = connection
    this.#occurrences = occurrences
    this.#versions = new VersionReports(occurrences)
    this.#versions.note(connection.info?.version)
    // The iterator ends with the connection; an error of it tells nothing that the connection does not tell itself.
    this.#follow().catch(() => {})
  }

  get isConnected(): boolean {
    return this.#isUp && !this.#connection.isClosed()
  }

  /** Calls back whenever the connection is back; the result ends that. */
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
