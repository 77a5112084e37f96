/** Edges by the hostports that they serve, exactly or by a wildcard. */
import { hostCharsMax } from '../core/address/host-name.js'
import { StringIndex } from '../core/string-index.js'
import type { TrafficRecord } from '../record/traffic-record.js'
import { type Endpoint, type HttpsEdge, hostOf, hostportOf } from './edges.js'

/** The edge that serves a port of a host, and those that serve the host's other ports. */
interface ServedPort<T> {
  readonly port: number
  readonly value: T
  readonly others: ServedPort<T> | undefined
}

type Owned = Pick<Endpoint, 'accountId'>

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
   * the host of a stored hostport is its own normal form.
   */
  findExact({ conn }: TrafficRecord): T | undefined {
    const { server_name: name, server_port: port } = conn
    if (!name || port === undefined || port === null) return undefined
    return this.#find(name, port) ?? this.#find(hostOf(name), port)
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

/** Finds edges of one kind. A hostport belongs to one edge of any kind, so those of the other kind have a say. */
class EdgeFinder<T extends Owned> {
  readonly #own: Hostports<T>
  readonly #other: Hostports<Owned>
  readonly #taken: ReadonlySet<string>

  constructor(own: Hostports<T>, other: Hostports<Owned>, taken: ReadonlySet<string>) {
    this.#own = own
    this.#other = other
    this.#taken = taken
  }

  find(record: TrafficRecord): T | undefined {
    const exact = this.#own.findExact(record)
    if (exact !== undefined || this.#own.wildcards.size === 0) return exact
    const hostport = this.#wildcardOf(record)
    return hostport === undefined ? undefined : this.#own.wildcards.get(hostport)
  }

  /** The hostport by which `find` finds the edge. */
  hostportOf(record: TrafficRecord): string | undefined {
    return this.#own.findExact(record) === undefined ? this.#wildcardOf(record) : hostportOf(record)
  }

  /**
   * The most specific hostport of any account decides, so that no wildcard catches what another one names. A record that
   * says whose it is passes by the wildcards of other accounts.
   */
  #wildcardOf(record: TrafficRecord): string | undefined {
    const exact = hostportOf(record)
    if (exact === undefined || this.#taken.has(exact) || this.#other.findExact(record) !== undefined)
      return undefined
    const { account_id } = record
    for (const hostport of wildcardsFor(exact)) {
      const own = this.#own.wildcards.get(hostport)
      const owner = (own ?? this.#other.wildcards.get(hostport))?.accountId
      const isNamed = owner !== undefined || this.#taken.has(hostport)
      if (!isNamed || (account_id && account_id !== owner)) continue
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
  readonly #tcp: Hostports<Endpoint>
  readonly #https: Hostports<HttpsEdge>
  readonly #taken: ReadonlySet<string>

  /** `taken`: hostports that no wildcard matches, such as reserved addresses. */
  constructor(tcp: Hostports<Endpoint>, https: Hostports<HttpsEdge>, taken: ReadonlySet<string>) {
    this.tcp_connection = new EdgeFinder(tcp, https, taken)
    this.http_request = new EdgeFinder(https, tcp, taken)
    this.#tcp = tcp
    this.#https = https
    this.#taken = taken
  }

  /** The same, if these are taken, too. */
  without(taken: ReadonlySet<string>): EdgesByHostport {
    return new EdgesByHostport(this.#tcp, this.#https, new Set([...this.#taken, ...taken]))
  }
}

/** The wildcards that match a hostport, the most specific first: two for the host, for each of its domains, and for any host. */
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
