/**
 * Start here: networks that no destination leads to unless the operator allows it. An account chooses the server of a
 * destination; it must not choose one that only Weir can reach, such as a cloud's metadata service or Weir's own ClickHouse.
 * The address that is really connected to decides, not the name: a name can lead to another address at each lookup (DNS
 * rebinding).
 *
 * There is one guard and no common dialer. HTTP's agents and Kafka's sockets take `lookup`; NATS, whose encryption begins only
 * after a greeting, is given addresses. The libraries for NATS and Kafka take neither an open socket nor a lookup, so the
 * rooms of these protocols open their connections themselves.
 */
import type { LookupAddress, LookupOptions } from 'node:dns'
import { Agent as HttpAgent, type AgentOptions as HttpAgentOptions } from 'node:http'
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from 'node:https'
import type { LookupFunction } from 'node:net'
import { type CidrSet, compileCidrSet } from '../../ground/core/address/cidr-set.js'
import { isAddress, parseAddress } from '../../ground/core/address/ip.js'
import { getOrMake } from '../../ground/core/maps.js'
import { lookUpHost } from './host-lookup.js'

/**
 * Networks that are not globally reachable, or lead to such networks by translation:
 * https://www.iana.org/assignments/iana-ipv4-special-registry and
 * https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const specialNetworks = compileCidrSet([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  // Azure's host, which answers virtual machines only.
  '168.63.129.16/32',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
])

/** The setting that allows some of them. */
export const privateNetworksSetting = 'WEIR_HTTP_PRIVATE_NETWORKS'

export const privateNetworkCode = 'PrivateNetwork'

/** The destination is an address in a network that is not allowed. */
export class PrivateNetworkError extends Error {
  override readonly name = 'PrivateNetworkError'
  readonly code = privateNetworkCode

  constructor(address: string) {
    super(`${address} is in a private network; ${privateNetworksSetting} can allow it.`)
  }
}

export const unknownHostCode = 'UnknownHost'

/**
 * The destination's name leads nowhere that it may lead to. The sentence is the same for a name that does not exist: an
 * account must not learn which names the operator's own DNS has.
 */
export class UnknownHostError extends Error {
  override readonly name = 'UnknownHostError'
  readonly code = unknownHostCode

  constructor(host: string) {
    super(
      `${host} has no address that destinations may lead to: it is unknown, or in a private network, which ${privateNetworksSetting} can allow.`,
    )
  }
}

/** Finds all addresses of a name; rejects if DNS has none, or does not answer. */
type LookUp = (host: string) => Promise<LookupAddress[]>

export class ReachableNetworks {
  readonly #allowed: CidrSet
  readonly #lookUp: LookUp
  /** Lookups under way: however many connections wait for a name, it is looked up once. */
  readonly #underWay = new Map<string, Promise<LookupAddress[]>>()

  /** `allowed`: private networks that destinations may lead to, as CIDRs. */
  constructor(allowed: readonly string[] = [], lookUp: LookUp = lookUpHost) {
    this.#allowed = compileCidrSet(allowed)
    this.#lookUp = lookUp
  }

  isReachable(address: string): boolean {
    const parsed = parseAddress(address)
    return parsed.family !== 0 && (!specialNetworks.has(parsed) || this.#allowed.has(parsed))
  }

  /** Throws `PrivateNetworkError` for an address that must not be connected to; a name is left to `lookup`. */
  check(host: string): void {
    const address = host.replace(/^\[(.*)\]$/, '$1')
    if (isAddress(address) && !this.isReachable(address)) throw new PrivateNetworkError(address)
  }

  /** For `net.connect` and everything that takes its options; it is not called for an address. */
  readonly lookup: LookupFunction = (host, options, done) => {
    getOrMake(this.#underWay, host, () => this.#lookUp(host).finally(() => this.#underWay.delete(host))).then(
      (found) => this.#answer(host, options, found, done),
      () => done(new UnknownHostError(host), ''),
    )
  }

  #answer(
    host: string,
    { all, family }: LookupOptions,
    found: readonly LookupAddress[],
    done: Parameters<LookupFunction>[2],
  ): void {
    const wanted = found.filter((each) => !family || each.family === family)
    const reachable = wanted.filter(({ address }) => this.isReachable(address))
    const [first] = reachable
    if (first === undefined) done(new UnknownHostError(host), '')
    else if (all) done(null, reachable)
    else done(null, first.address, first.family)
  }

  /** The addresses of a host that may be connected to, for clients that take addresses; throws if there is none. */
  async addressesOf(host: string): Promise<readonly string[]> {
    this.check(host)
    return new Promise((resolve, reject) => {
      this.lookup(host.replace(/^\[(.*)\]$/, '$1'), { all: true }, (error, found) => {
        if (error === null) resolve((found as LookupAddress[]).map(({ address }) => address))
        else reject(error)
      })
    })
  }

  httpAgent(options: HttpAgentOptions): HttpAgent {
    return this.#guarded(new HttpAgent({ ...options, lookup: this.lookup } as HttpAgentOptions))
  }

  httpsAgent(options: HttpsAgentOptions): HttpsAgent {
    return this.#guarded(new HttpsAgent({ ...options, lookup: this.lookup } as HttpsAgentOptions))
  }

  #guarded<A extends HttpAgent>(agent: A): A {
    const connect = agent.createConnection.bind(agent)
    agent.createConnection = (options, done) => {
      try {
        this.check(options.host ?? '')
      } catch (error) {
        done?.(error as Error, undefined as never)
        return undefined
      }
      return connect(options, done)
    }
    return agent
  }
}
