/** Edges by the hostports that they serve. */
import type { TrafficRecord } from '../record/traffic-record.js'
import { hostOf } from './edges.js'

/** What serves a port of a host, and what serves the host's other ports. */
interface ServedPort<T> {
  readonly port: number
  readonly value: T
  readonly others: ServedPort<T> | undefined
}

export class Hostports<T> {
  readonly #byHost = new Map<string, ServedPort<T>>()

  /** `hostport` is spelled as it is stored. */
  add(hostport: string, value: T): void {
    const colon = hostport.lastIndexOf(':')
    const host = hostport.slice(0, colon)
    const port = Number(hostport.slice(colon + 1))
    this.#byHost.set(host, { port, value, others: this.#byHost.get(host) })
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
}
