/** Edges by the hostports that they serve. */
import { StringIndex } from '../core/string-index.js'
import type { TrafficRecord } from '../record/traffic-record.js'
import { hostOf } from './edges.js'

/** The edge that serves a port of a host, and those that serve the host's other ports. */
interface ServedPort<T> {
  readonly port: number
  readonly value: T
  readonly others: ServedPort<T> | undefined
}

/** Values by hostport while they are collected. `hostport` is spelled as it is stored. */
export class HostportsBuilder<T> {
  readonly #byHost = new Map<string, ServedPort<T>>()

  add(hostport: string, value: T): void {
    const colon = hostport.lastIndexOf(':')
    const host = hostport.slice(0, colon)
    const port = Number(hostport.slice(colon + 1))
    this.#byHost.set(host, { port, value, others: this.#byHost.get(host) })
  }

  complete(): Hostports<T> {
    return new Hostports(new StringIndex(this.#byHost))
  }
}

export class Hostports<T> {
  readonly #byHost: StringIndex<ServedPort<T>>

  constructor(byHost: StringIndex<ServedPort<T>>) {
    this.#byHost = byHost
  }

  /**
   * Most senders spell names as hostports do. A name is normalized only if it is not found as it is, with the same result:
   * the host of a stored hostport is its own normal form.
   */
  find({ conn }: TrafficRecord): T | undefined {
    const { server_name: name, server_port: port } = conn
    if (!name || port === undefined || port === null) return undefined
    return this.#find(name, port) ?? this.#find(hostOf(name), port)
  }

  #find(host: string, port: number): T | undefined {
    let served = this.#byHost.get(host)
    while (served !== undefined && served.port !== port) served = served.others
    return served?.value
  }

  /** Reads what `find` will read for records with these names, and what `read` reads of one value of each. */
  fetch(names: readonly string[], read: (value: T) => number): number {
    return this.#byHost.fetch(names, ({ port, value }) => port + read(value))
  }
}
