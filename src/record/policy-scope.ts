/** The names an expression of a traffic policy may use: the same when an edge is saved and when it is evaluated. */
import { type Address, parseAddress } from '../core/address/ip.js'
import { utcMicros } from '../core/timestamp.js'
import { defineScope, type Scope, type ScopeName } from '../expr/scope.js'
import type { GeoLookup } from './geo.js'
import type { Geo } from './geo-entry.js'
import { type FieldText, recordFieldOf } from './record-fields.js'
import { addressSpelling, serverHost, serverSpelling } from './spelling.js'
import type { Connection, ConnectionRecord } from './traffic-record.js'

export type IpDecision = 'allow' | 'block'

/** The source of the values of an expression: one record, and the decisions about it so far. */
export class PolicyContext {
  readonly conn: ConnectionRecord['conn']
  readonly edgeId: string | undefined
  /** Undefined until IP policies have decided, and afterwards if none applied. */
  ipDecision: IpDecision | undefined
  readonly #lookup: GeoLookup
  #client: Address | undefined
  #geo: Geo | undefined

  constructor(conn: Connection, edgeId: string | undefined, lookup: GeoLookup) {
    this.conn = conn
    this.edgeId = edgeId
    this.#lookup = lookup
  }

  /** The address of the client, parsed on first use. */
  get client(): Address {
    this.#client ??= parseAddress(this.conn.client_ip)
    return this.#client
  }

  /** Looked up on first use: most records meet no expression that needs it. */
  get geo(): Geo {
    this.#geo ??= this.#lookup.lookup(this.conn.client_ip)
    return this.#geo
  }
}

type Read = ScopeName<PolicyContext>['read']

/** A name with its description, unless the field of the record of that name has it. */
type DeclaredName = ScopeName<PolicyContext> & Partial<FieldText>

const text = (read: Read, about?: string): DeclaredName => ({ type: 'string', read, ...(about && { about }) })
const number = (read: Read, about?: string, unit?: string): DeclaredName => ({
  type: 'number',
  read,
  ...(about && { about }),
  ...(unit && { unit }),
})

const inboundNames: Readonly<Record<string, DeclaredName>> = {
  'conn.client_ip': { ...text(({ conn }) => conn.client_ip), spelling: addressSpelling },
  'conn.client_port': number(({ conn }) => conn.client_port),
  'conn.server_ip': { ...text(({ conn }) => conn.server_ip), spelling: addressSpelling },
  'conn.server_port': number(({ conn }) => conn.server_port),
  'conn.server_name': {
    ...text(({ conn }) => conn.server_name && serverHost(conn.server_name)),
    spelling: serverSpelling,
  },
  'conn.start_ts': text(({ conn }) => conn.start_ts && utcMicros(conn.start_ts)),
  'conn.geo.country_code': text(({ geo }) => geo.country_code, 'Country of the client: ISO 3166-1 alpha-2.'),
  'conn.geo.country': text(({ geo }) => geo.country, 'Country of the client, in English.'),
  'conn.geo.city': text(({ geo }) => geo.city, 'City of the client, in English.'),
  'conn.geo.subdivision': text(
    ({ geo }) => geo.subdivision,
    'State, province or county of the client, in English.',
  ),
  'conn.geo.continent_code': text(({ geo }) => geo.continent_code, 'Continent of the client: two letters.'),
  'conn.geo.latitude': number(({ geo }) => geo.latitude, 'Latitude of the client.', 'degrees'),
  'conn.geo.longitude': number(({ geo }) => geo.longitude, 'Longitude of the client.', 'degrees'),
  'conn.geo.radius': number(
    ({ geo }) => geo.radius,
    'Radius around latitude and longitude in which the client is.',
    'km',
  ),
  'conn.asn': number(({ geo }) => geo.asn, 'Number of the autonomous system of the client.'),
  'conn.as_org': text(({ geo }) => geo.as_org, 'Organization of the autonomous system of the client.'),
  'edge.id': text(({ edgeId }) => edgeId, 'Id of the edge.'),
}

/** Known once the connection is closed. */
const outboundNames: Readonly<Record<string, DeclaredName>> = {
  'conn.bytes_in': number(({ conn }) => conn.bytes_in),
  'conn.bytes_out': number(({ conn }) => conn.bytes_out),
  'conn.end_ts': text(({ conn }) => conn.end_ts && utcMicros(conn.end_ts)),
  'ip_policy.decision': text(
    ({ ipDecision }) => ipDecision,
    'What IP policies decided: `allow` or `block`; no value if none applied.',
  ),
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

/** A name of expressions, for the documents. */
interface PolicyName extends FieldText {
  readonly name: string
  readonly type: 'text' | 'number'
  readonly aliases: readonly string[]
  /** Only outbound policies may use it. */
  readonly outboundOnly: boolean
}

const policyNameOf = ([name, { type, about, unit }]: readonly [string, DeclaredName]): PolicyName => {
  const described = about === undefined ? recordFieldOf('tcp_connection', name) : { about, unit }
  if (described === undefined) throw new Error(`The name ${name} needs a description.`)
  return {
    name,
    type: type === 'number' ? 'number' : 'text',
    about: described.about,
    ...(described.unit === undefined ? {} : { unit: described.unit }),
    aliases: Object.keys(nameAliases).filter((alias) => nameAliases[alias] === name),
    outboundOnly: Object.hasOwn(outboundNames, name),
  }
}

/** Every name that an expression of a traffic policy may use. */
export const policyNames: readonly PolicyName[] = [
  ...Object.entries(inboundNames),
  ...Object.entries(outboundNames),
].map(policyNameOf)
