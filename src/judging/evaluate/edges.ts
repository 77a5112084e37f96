/** Edges, and how a record finds its edge. */

import { hostOf } from '../../delivery/record/spelling.js'
import type { RequestRecord, TrafficRecord } from '../../delivery/record/traffic-record.js'
import { fail, ok, type Problem, type Result, shown } from '../../ground/core/errors.js'
import { internalized } from '../../ground/core/internalized.js'
import { compiledOnceMax } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { PolicyKind } from '../../words/resource/fields/traffic-policy-check.js'
import type { AccountRight } from '../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import type { IpRestrictionModule } from './policy-source.js'
import { TrafficPolicies } from './traffic-policy.js'

/** Characters per name in the report of records that no edge serves. */
const unservedEndpointCharsMax = 100

/**
 * The edge or account of a record, and what applies there. With thousands of edges it is in no cache: with another member,
 * it would be larger than a line of one.
 */
export interface Endpoint {
  readonly accountId: string | undefined
  readonly edgeId: string | undefined
  /** Policies of the `ip_restriction` module; undefined if it is missing or disabled. */
  readonly ipPolicyIds: readonly string[] | undefined
  /** Undefined if the `policies` module of the edge is missing or disabled. */
  readonly policies: TrafficPolicies | undefined
  /** Undefined for connections, and for requests without one. */
  readonly route: EndpointRoute | undefined
}

interface EndpointRoute {
  readonly id: string
  /** They come after those of the edge. */
  readonly policies: TrafficPolicies | undefined
}

/** For a record without an edge and a known account: nothing applies, and it makes no events. */
export const nowhere: Endpoint = {
  accountId: undefined,
  edgeId: undefined,
  ipPolicyIds: undefined,
  policies: undefined,
  route: undefined,
}

const accountEndpoint = (accountId: string): Endpoint => ({ ...nowhere, accountId })

/** The endpoint of records that no edge of their account serves. */
export interface AccountEndpoint extends Endpoint {
  /** Its proxies may serve names that no edge serves. */
  readonly allowsUnserved: boolean
}

const unservedAllowed: AccountRight = 'unserved_allowed'

export const compileAccount = ({ id, rights }: DeclaredRow<'account'>): AccountEndpoint => ({
  ...accountEndpoint(id),
  allowsUnserved: rights?.includes(unservedAllowed) ?? false,
})

/**
 * Lists of ids, one object for equal ones. Most edges have one of a few lists; what edges share is in the cache when a
 * record comes for an edge that is not.
 */
export class SharedLists {
  readonly #lists = new Map<string, readonly string[]>()

  shared(ids: readonly string[]): readonly string[] {
    if (this.#lists.size >= compiledOnceMax) this.#lists.clear()
    return getOrMake(this.#lists, ids.join(), () => ids)
  }
}

const idsOf = (module: IpRestrictionModule | null, lists: SharedLists): readonly string[] | undefined =>
  module?.enabled ? lists.shared(module.ip_policy_ids) : undefined

const policiesOf = (
  kind: PolicyKind,
  { id, policies }: Pick<DeclaredRow<PolicyKind>, 'id' | 'policies'>,
): TrafficPolicies | undefined => (policies?.enabled ? new TrafficPolicies(kind, id, policies) : undefined)

export const compileTcpEdge = (row: DeclaredRow<'tcp_edge'>, lists: SharedLists): Endpoint => ({
  accountId: internalized(row.account_id),
  edgeId: row.id,
  ipPolicyIds: idsOf(row.ip_restriction, lists),
  policies: policiesOf('tcp_edge', row),
  route: undefined,
})

export interface Route {
  readonly id: string
  readonly matchType: DeclaredRow<'https_edge_route'>['match_type']
  readonly match: string
  readonly endpoint: Endpoint
}

export const compileRoute = (row: DeclaredRow<'https_edge_route'>, lists: SharedLists): Route => ({
  id: row.id,
  matchType: row.match_type,
  match: row.match,
  endpoint: {
    accountId: internalized(row.account_id),
    edgeId: row.edge_id,
    ipPolicyIds: idsOf(row.ip_restriction, lists),
    policies: undefined,
    route: { id: row.id, policies: policiesOf('https_edge_route', row) },
  },
})

const compileHttpsEdge = (row: DeclaredRow<'https_edge'>): Endpoint => ({
  ...accountEndpoint(internalized(row.account_id)),
  edgeId: row.id,
  policies: policiesOf('https_edge', row),
})

/** An HTTPS edge with its routes. */
export class HttpsEdge {
  readonly #version: number
  /** For requests that no route matches. */
  readonly unrouted: Endpoint
  /** It refuses requests whose target servers read differently. */
  readonly refusesAmbiguous: boolean
  readonly #byId = new Map<string, Route>()
  readonly #byPath = new Map<string, Route>()
  /** Prefixes without their last slash: they match whole segments. */
  readonly #byPrefix = new Map<string, Route>()
  #prefixCharsMax = 0

  /** `previous`: the edge in the previous view, whose compiled policies are used again if the row is the same. */
  constructor(row: DeclaredRow<'https_edge'>, previous: HttpsEdge | undefined) {
    this.#version = row.version
    const isSame = previous !== undefined && previous.#version === row.version
    this.unrouted = isSame ? previous.unrouted : compileHttpsEdge(row)
    this.refusesAmbiguous = row.ambiguous_targets === 'refuse'
  }

  get accountId(): string | undefined {
    return this.unrouted.accountId
  }

  /** The policies of the edge apply to requests of the route, too. */
  add({ endpoint, ...rest }: Route): void {
    const { policies } = this.unrouted
    const route = { ...rest, endpoint: policies === undefined ? endpoint : { ...endpoint, policies } }
    this.#byId.set(route.id, route)
    if (route.matchType === 'exact_path') {
      this.#byPath.set(route.match, route)
      return
    }
    const prefix = withoutLastSlash(route.match)
    this.#byPrefix.set(prefix, route)
    this.#prefixCharsMax = Math.max(this.#prefixCharsMax, prefix.length)
  }

  /** By `route_id`, else an exact match of the path, else the longest prefix. */
  findRoute(record: RequestRecord): Result<Endpoint> {
    if (record.route_id) {
      const named = this.#byId.get(record.route_id)
      if (named !== undefined) return ok(named.endpoint)
      return fail({
        msg: `"route_id" is ${shown(record.route_id)}, which is not a route of ${this.unrouted.edgeId}.`,
      })
    }
    return ok(this.endpointAt(record.http?.request?.url?.path))
  }

  /**
   * The endpoint of requests for this path. `written`: the same path before it was put into small letters. A route with
   * capital letters is found by what is written.
   */
  endpointAt(path: string | null | undefined, written?: string): Endpoint {
    const route = path ? this.#routeAt(path, written) : undefined
    return route?.endpoint ?? this.unrouted
  }

  #routeAt(path: string, written: string | undefined): Route | undefined {
    const named = (written && this.#byPath.get(written)) || this.#byPath.get(path)
    return named ?? this.#longestPrefix(path, written)
  }

  get hasRoutes(): boolean {
    return this.#byId.size > 0
  }

  #longestPrefix(path: string, written: string | undefined): Route | undefined {
    if (this.#byPrefix.size === 0) return undefined
    // A path may be long; nothing longer than the longest prefix can match.
    let end = path.length <= this.#prefixCharsMax ? path.length : path.lastIndexOf('/', this.#prefixCharsMax)
    for (; end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
      const route =
        (written && this.#byPrefix.get(written.slice(0, end))) || this.#byPrefix.get(path.slice(0, end))
      if (route !== undefined) return route
    }
    return undefined
  }
}

const withoutLastSlash = (prefix: string): string => (prefix.endsWith('/') ? prefix.slice(0, -1) : prefix)

/** `host:port` as hostports are stored; undefined if the record lacks one of them. */
export function hostportOf({ conn }: TrafficRecord): string | undefined {
  const { server_name, server_port } = conn
  if (!server_name || server_port === undefined || server_port === null) return undefined
  return `${hostOf(server_name)}:${server_port}`
}

/** Why the edge of a record is wrong. */
export interface EdgeProblem extends Problem {
  /** The id is unknown; otherwise it contradicts the record. */
  readonly unknown: boolean
}

export const noSuchEdge = (edgeId: string): Result<never, EdgeProblem> =>
  fail({ msg: `"edge_id" is ${shown(edgeId)}, but there is no such edge.`, unknown: true })

export const wrongAccount = (record: TrafficRecord, edgeId: string | undefined): Result<never, EdgeProblem> =>
  fail({
    msg: `"account_id" is ${shown(record.account_id)}, but the edge ${edgeId} belongs to another account.`,
    unknown: false,
  })

const plainEndpoint = /^[\w.:[\]-]*$/

/** The endpoint of a record for the log: bounded, and without control sequences for terminals. */
export function endpointName(record: TrafficRecord): string {
  const hostport = hostportOf(record)
  if (hostport === undefined) return 'no server_name or server_port'
  const isPlain = hostport.length <= unservedEndpointCharsMax && plainEndpoint.test(hostport)
  return isPlain ? hostport : shown(hostport, unservedEndpointCharsMax)
}
