/** The names an expression of a traffic policy may use: the same when an edge is saved and when it is evaluated. */
import { defineScope, type Scope, type ScopeName } from '../expr/scope.js'
import type { Geo, GeoLookup } from './geo.js'
import { addressSpelling, serverHost, serverSpelling } from './spelling.js'
import type { Connection, ConnectionRecord } from './traffic-record.js'

export type IpDecision = 'allow' | 'block'

/** What an expression reads from: one record, and what has been decided about it so far. */
export class PolicyContext {
  readonly conn: ConnectionRecord['conn']
  readonly edgeId: string | undefined
  /** No value until IP policies were looked at, and none after if there were none. */
  ipDecision: IpDecision | undefined
  readonly #lookup: GeoLookup
  #geo: Geo | undefined

  constructor(conn: Connection, edgeId: string | undefined, lookup: GeoLookup) {
    this.conn = conn
    this.edgeId = edgeId
    this.#lookup = lookup
  }

  /** Looked up when the first expression asks: most records meet none that does. */
  get geo(): Geo {
    this.#geo ??= this.#lookup.lookup(this.conn.client_ip)
    return this.#geo
  }
}

type Read = ScopeName<PolicyContext>['read']

const text = (read: Read): ScopeName<PolicyContext> => ({ type: 'string', read })
const number = (read: Read): ScopeName<PolicyContext> => ({ type: 'number', read })

const inboundNames = {
  'conn.client_ip': { ...text(({ conn }) => conn.client_ip), spelling: addressSpelling },
  'conn.client_port': number(({ conn }) => conn.client_port),
  'conn.server_ip': { ...text(({ conn }) => conn.server_ip), spelling: addressSpelling },
  'conn.server_port': number(({ conn }) => conn.server_port),
  'conn.server_name': {
    ...text(({ conn }) => conn.server_name && serverHost(conn.server_name)),
    spelling: serverSpelling,
  },
  'conn.start_ts': text(({ conn }) => conn.start_ts),
  'conn.geo.country_code': text(({ geo }) => geo.country_code),
  'conn.geo.country': text(({ geo }) => geo.country),
  'conn.geo.city': text(({ geo }) => geo.city),
  'conn.geo.subdivision': text(({ geo }) => geo.subdivision),
  'conn.geo.continent_code': text(({ geo }) => geo.continent_code),
  'conn.geo.latitude': number(({ geo }) => geo.latitude),
  'conn.geo.longitude': number(({ geo }) => geo.longitude),
  'conn.geo.radius': number(({ geo }) => geo.radius),
  'conn.asn': number(({ geo }) => geo.asn),
  'conn.as_org': text(({ geo }) => geo.as_org),
  'edge.id': text(({ edgeId }) => edgeId),
}

/** Known only once the connection is closed. */
const outboundNames = {
  'conn.bytes_in': number(({ conn }) => conn.bytes_in),
  'conn.bytes_out': number(({ conn }) => conn.bytes_out),
  'conn.end_ts': text(({ conn }) => conn.end_ts),
  'ip_policy.decision': text(({ ipDecision }) => ipDecision),
}

/** Other spellings, of one name each. */
export const nameAliases: Readonly<Record<string, string>> = {
  'conn.ClientIP': 'conn.client_ip',
  'conn.ClientPort': 'conn.client_port',
  'conn.ServerIP': 'conn.server_ip',
  'conn.ServerPort': 'conn.server_port',
  'conn.ServerName': 'conn.server_name',
  'conn.Geo.CountryCode': 'conn.geo.country_code',
  'conn.Geo.Latitude': 'conn.geo.latitude',
  'conn.Geo.Longitude': 'conn.geo.longitude',
  'conn.Geo.LatLongRadiusKm': 'conn.geo.radius',
}

const outboundOnly = 'has a value only when the connection is closed; use it in outbound policies'

export const inboundScope: Scope<PolicyContext> = defineScope({
  names: inboundNames,
  aliases: nameAliases,
  unavailable: Object.fromEntries(Object.keys(outboundNames).map((name) => [name, outboundOnly])),
})

export const outboundScope: Scope<PolicyContext> = defineScope({
  names: { ...inboundNames, ...outboundNames },
  aliases: nameAliases,
})
