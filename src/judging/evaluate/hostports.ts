/** Edges by the hostports that they serve, exactly or by a wildcard. */

import { hostOf } from '../../delivery/record/spelling.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { hostCharsMax } from '../../ground/core/address/host-name.js'
import { StringIndex } from '../../ground/core/string-index.js'
import { type Endpoint, type HttpsEdge, hostportOf } from './edges.js'

/** The edge that serves a port of a host, and those that serve the host's other ports. */
interface ServedPort<T> {
  readonly port: number
  readonly value: T
  readonly others: ServedPort<T> | undefined
}

type Owned = Pick<Endpoint, 'accountId'>

/** The account that a search is made for; undefined for one over the edges of all accounts. */
export type Asker = string | null | undefined

const isSeenBy = (asker: Asker, owner: string | undefined): boolean => !asker || asker === owner

/** Values by hostport while they are collected. `hostport` is spelled as it is stored. */
export class HostportsBuilder<T extends Owned> {
  readonly #byHost = new Map<string, ServedPort<T>>()
  readonly #wildcards = new Map<string, T>()

  add(hostport: string, value: T): void {
    if (hostport.includes('*')) {
      this.#wildcards.set(hostport, value)
      return
    }
    const colon = hostport.lastIndexOf(':')
    const host = hostport.slice(0, colon)
    const port = Number(hostport.slice(colon + 1))
    this.#byHost.set(host, { port, value, others: this.#byHost.get(host) })
  }

  complete(): Hostports<T> {
    return new Hostports(new StringIndex(this.#byHost), this.#wildcards)
  }
}

export class Hostports<T extends Owned> {
  readonly #byHost: StringIndex<ServedPort<T>>
  readonly wildcards: ReadonlyMap<string, T>

  constructor(byHost: StringIndex<ServedPort<T>>, wildcards: ReadonlyMap<string, T>) {
    this.#byHost = byHost
    this.wildcards = wildcards
  }

  /**
   * Most senders spell names as hostports do. A name is normalized only if it is not found as it is, with the same result:
   * the host of a stored hostport is its own normal form. `accountId`: whose edges there are; undefined for those of all.
   */
  findExact({ conn }: TrafficRecord, accountId: Asker): T | undefined {
    const { server_name: name, server_port: port } = conn
    if (!name || port === undefined || port === null) return undefined
    const found = this.#find(name, port) ?? this.#find(hostOf(name), port)
    return found !== undefined && isSeenBy(accountId, found.accountId) ? found : undefined
  }

  #find(host: string, port: number): T | undefined {
    let served = this.#byHost.get(host)
    while (served !== undefined && served.port !== port) served = served.others
    return served?.value
  }

  /** Reads what `findExact` will read for records with these names, and what `read` reads of one value of each. */
  fetch(names: readonly string[], read: (value: T) => number): number {
    return this.#byHost.fetch(names, ({ port, value }) => port + read(value))
  }
}

/**
 * Finds edges of one kind. A hostport belongs to one edge of any kind, so those of the other kind have a say. What is asked
 * for an account sees the edges and addresses of this account alone: no other account can change what it gets by naming more
 * exactly what a wildcard of it serves.
 */
class EdgeFinder<T extends Owned> {
  readonly #own: Hostports<T>
  readonly #other: Hostports<Owned>
  readonly #reserved: ReadonlyMap<string, string>

  constructor(own: Hostports<T>, other: Hostports<Owned>, reserved: ReadonlyMap<string, string>) {
    this.#own = own
    this.#other = other
    this.#reserved = reserved
  }

  find(record: TrafficRecord, accountId: Asker): T | undefined {
    const exact = this.#own.findExact(record, accountId)
    if (exact !== undefined || this.#own.wildcards.size === 0) return exact
    const hostport = this.#wildcardOf(record, accountId)
    return hostport === undefined ? undefined : this.#own.wildcards.get(hostport)
  }

  /** The hostport by which `find` finds the edge. */
  hostportOf(record: TrafficRecord, accountId: Asker): string | undefined {
    return this.#own.findExact(record, accountId) === undefined
      ? this.#wildcardOf(record, accountId)
      : hostportOf(record)
  }

  /** The most specific hostport decides, so that no wildcard catches what another hostport names. */
  #wildcardOf(record: TrafficRecord, accountId: Asker): string | undefined {
    const exact = hostportOf(record)
    if (exact === undefined) return undefined
    const reservedBy = this.#reserved.get(exact)
    if (reservedBy !== undefined && isSeenBy(accountId, reservedBy)) return undefined
    if (this.#other.findExact(record, accountId) !== undefined) return undefined
    for (const hostport of wildcardsFor(exact)) {
      const own = this.#own.wildcards.get(hostport)
      const owner = (own ?? this.#other.wildcards.get(hostport))?.accountId
      if (owner === undefined || !isSeenBy(accountId, owner)) continue
      return own === undefined ? undefined : hostport
    }
    return undefined
  }

  fetch(names: readonly string[], read: (value: T) => number): number {
    return this.#own.fetch(names, read)
  }
}

/** The edges of a configuration, by the type of record that they serve. */
export class EdgesByHostport {
  readonly tcp_connection: EdgeFinder<Endpoint>
  readonly http_request: EdgeFinder<HttpsEdge>

  /** `reserved`: the accounts of reserved addresses. No wildcard matches these. */
  constructor(tcp: Hostports<Endpoint>, https: Hostports<HttpsEdge>, reserved: ReadonlyMap<string, string>) {
    this.tcp_connection = new EdgeFinder(tcp, https, reserved)
    this.http_request = new EdgeFinder(https, tcp, reserved)
  }
}

/**
 * The wildcards that match a hostport, the most specific first: two for the host, for each of its domains, and for any host.
 */
export function* wildcardsFor(hostport: string): Generator<string> {
  const colon = hostport.lastIndexOf(':')
  const [host, port] = [hostport.slice(0, colon), hostport.slice(colon + 1)]
  yield `${host}:*`
  // No longer text is a host name; it could have any number of dots.
  if (host.length <= hostCharsMax && !host.startsWith('['))
    for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
      const domain = `*${host.slice(dot)}`
      yield `${domain}:${port}`
      yield `${domain}:*`
    }
  yield `*:${port}`
  yield '*:*'
}
