/**
 * The scope of a traffic policy's expressions: the values they read, and the names they may use. It is the same when an edge
 * is saved and when it is evaluated.
 */
import { isTimestamp, utcMicros } from '../../ground/core/text/timestamp.js'
import { textsLike } from '../../ground/expr/domain.js'
import {
  defineScope,
  type Scope,
  type ScopeLists,
  type ScopeName,
  type Spelling,
} from '../../ground/expr/scope.js'
import type { PolicyContext } from './policy-context.js'
import type { FieldText } from './record-fields.js'
import { addressSpelling, categorySpelling, methodSpelling, serverHost, serverSpelling } from './spelling.js'
import { type RecordType, recordTypes } from './traffic-record.js'
import {
  type SeveralValues,
  severalCookies,
  severalHeaders,
  severalMethods,
  severalParameters,
  severalQueries,
  severalUserAgents,
} from './value-choices.js'
import { domainOf } from './value-domains.js'

type Read = ScopeName<PolicyContext>['read']

/**
 * How a client could spell a text, and what servers may take for it, so that no policy is passed by another spelling:
 *
 * - `ours`: Weir makes the text, or the log of an ingress node that it trusts, in one spelling
 * - `as given`: only equal texts mean the same
 * - a `Spelling`: several texts mean the same; values, and what expressions compare them with, get one
 * - `of the target`: each reading of the request's target is judged (`core/text/target-readings.ts`)
 * - `SeveralValues`: each value that a server may take is judged; with a `Spelling`, in that one
 */
type Told =
  | 'ours'
  | 'as given'
  | Spelling
  | 'of the target'
  | SeveralValues
  | readonly [Spelling, SeveralValues]

type Typed =
  | { readonly type: 'number' | 'boolean' }
  | { readonly type: 'string' | 'list' | 'map'; readonly told: Told }

/** A name with its description, unless the field of the record of that name has it. */
type DeclaredName = Omit<ScopeName<PolicyContext>, 'type' | 'spelling'> & Typed & Partial<FieldText>
export type DeclaredNames = Readonly<Record<string, DeclaredName>>

const text = (told: Told, read: Read, about?: string): DeclaredName => ({
  type: 'string',
  told,
  read,
  ...(about && { about }),
})
const number = (read: Read, about?: string, unit?: string): DeclaredName => ({
  type: 'number',
  read,
  ...(about && { about }),
  ...(unit && { unit }),
})
const map = (
  told: Told,
  read: (context: PolicyContext, key: string) => unknown,
  about: string,
): DeclaredName => ({ type: 'map', told, read: (context, key = '') => read(context, key), about })
/** A map whose keys differ by the case of their letters. */
const mapWithCase = (...declared: Parameters<typeof map>): DeclaredName => ({
  ...map(...declared),
  hasCase: true,
})

export const inboundNames: DeclaredNames = {
  'conn.client_ip': text(addressSpelling, ({ conn }) => conn.client_ip),
  'conn.client_port': number(({ conn }) => conn.client_port),
  'conn.server_ip': text(addressSpelling, ({ conn }) => conn.server_ip),
  'conn.server_port': number(({ conn }) => conn.server_port),
  'conn.server_name': text(serverSpelling, ({ conn }) => conn.server_name && serverHost(conn.server_name)),
  'conn.start_ts': text('ours', ({ conn }) => conn.start_ts && utcMicros(conn.start_ts)),
  'conn.geo.country_code': text(
    'ours',
    ({ geo }) => geo.country_code,
    'Country of the client: ISO 3166-1 alpha-2.',
  ),
  'conn.geo.country': text('ours', ({ geo }) => geo.country, 'Country of the client, in English.'),
  'conn.geo.city': text('ours', ({ geo }) => geo.city, 'City of the client, in English.'),
  'conn.geo.subdivision': text(
    'ours',
    ({ geo }) => geo.subdivision,
    'State, province or county of the client, in English.',
  ),
  'conn.geo.continent_code': text(
    'ours',
    ({ geo }) => geo.continent_code,
    'Continent of the client: two letters.',
  ),
  'conn.geo.latitude': number(({ geo }) => geo.latitude, 'Latitude of the client.', 'degrees'),
  'conn.geo.longitude': number(({ geo }) => geo.longitude, 'Longitude of the client.', 'degrees'),
  'conn.geo.radius': number(
    ({ geo }) => geo.radius,
    'Radius around latitude and longitude in which the client is.',
    'km',
  ),
  'conn.asn': number(({ geo }) => geo.asn, 'Number of the autonomous system of the client.'),
  'conn.as_org': text(
    'ours',
    ({ geo }) => geo.as_org,
    'Organization of the autonomous system of the client.',
  ),
  'conn.ip.categories': {
    type: 'list',
    read: ({ categories }) => categories,
    told: categorySpelling,
    about: 'Categories of the IP lists that contain the client, and the more general ones.',
  },
  'edge.id': text('ours', ({ edgeId }) => edgeId, 'Id of the edge.'),
}

/** Names that a policy may use if it is about records of a type, in addition to those that all have. */
export const namesByType: Readonly<
  Record<RecordType, Readonly<Record<'inbound' | 'outbound', DeclaredNames>>>
> = {
  tcp_connection: {
    inbound: {},
    outbound: {
      'conn.bytes_in': number(({ conn }) => conn.bytes_in),
      'conn.bytes_out': number(({ conn }) => conn.bytes_out),
      'conn.end_ts': text('ours', ({ conn }) => conn.end_ts && utcMicros(conn.end_ts)),
    },
  },
  http_request: {
    inbound: {
      'http.request.method': text([methodSpelling, severalMethods], ({ method }) => method),
      'http.request.url.host': text(serverSpelling, ({ request }) =>
        hostOf(request.http?.request?.url?.host),
      ),
      'http.request.url.path': text('of the target', ({ path }) => path),
      'http.request.url.ambiguous': {
        type: 'boolean',
        read: ({ readings }) => readings?.isAmbiguous === true,
        about: 'Whether servers disagree about what the path names.',
      },
      'http.request.url.query': text(severalQueries, ({ query }) => query),
      'http.request.url.parameters': mapWithCase(
        severalParameters,
        (context, name) => context.parameter(name),
        'First value of a parameter of the query, decoded.',
      ),
      'http.request.user_agent': text(severalUserAgents, ({ userAgent }) => userAgent),
      'http.request.headers': map(
        severalHeaders,
        (context, name) => context.header(name),
        'First value of a header of the request.',
      ),
      'http.request.cookies': mapWithCase(
        severalCookies,
        (context, name) => context.cookie(name),
        'First value of a cookie of the request, as it was sent.',
      ),
      'http.request.body_length': number(({ request }) => request.http?.request?.body_length),
      'tls.version': text('as given', ({ request }) => request.tls?.version),
      'tls.client_cert.subject.cn': text('as given', ({ request }) => request.tls?.client_cert?.subject?.cn),
      'basic_auth.username': text('as given', ({ request }) => request.basic_auth?.username),
      'oauth.user.name': text('as given', ({ request }) => request.oauth?.user?.name),
    },
    outbound: {
      'http.response.status_code': number(({ request }) => request.http?.response?.status_code),
      'http.response.headers': map(
        'ours',
        (context, name) => context.responseHeader(name),
        'First value of a header of the response.',
      ),
      'http.response.body_length': number(({ request }) => request.http?.response?.body_length),
    },
  },
}

const hostOf = (host: string | null | undefined): string | undefined => (host ? serverHost(host) : undefined)

/** Known once the connection is closed, or the request complete. */
export const outboundNames: DeclaredNames = {
  'ip_policy.decision': text(
    'ours',
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

const outboundOnly: Readonly<Record<RecordType, string>> = {
  tcp_connection: 'has a value only when the connection is closed; use it in outbound policies',
  http_request: 'has a value only when the request is complete; use it in outbound policies',
}
const ofOthers: Readonly<Record<RecordType, string>> = {
  tcp_connection: 'is known of HTTP requests only; use it in policies of HTTPS edges and their routes',
  http_request: 'is known of TCP connections only; use it in policies of TCP edges',
}

const reasons = (names: Readonly<Record<string, unknown>>, reason: string): Record<string, string> =>
  Object.fromEntries(Object.keys(names).map((name) => [name, reason]))

const lists: ScopeLists<PolicyContext> = {
  about: 'conn.client_ip',
  read: (context, list = '') => context.lists?.isIn(list, context.client) ?? false,
}

export type PolicyScopes = Readonly<Record<'inbound' | 'outbound', Scope<PolicyContext>>>

/** Times of records are spelled alike. */
const spelledTime = textsLike((text) => isTimestamp(text) && utcMicros(text) === text)

function spellingOf(declared: DeclaredName): Pick<ScopeName<PolicyContext>, 'spelling'> {
  if (!('told' in declared) || typeof declared.told !== 'object') return {}
  return { spelling: 'whole' in declared.told ? declared.told : declared.told[0] }
}

const inScope = (names: DeclaredNames): Record<string, ScopeName<PolicyContext>> =>
  Object.fromEntries(
    Object.entries(names).map(([name, declared]) => [
      name,
      {
        ...declared,
        ...spellingOf(declared),
        domain: name.endsWith('_ts') ? spelledTime : domainOf(name),
      },
    ]),
  )

function scopesOf(type: RecordType): PolicyScopes {
  const inbound = inScope({ ...inboundNames, ...namesByType[type].inbound })
  const outbound = inScope({ ...namesByType[type].outbound, ...outboundNames })
  const others = recordTypes.filter((other) => other !== type).map((other) => namesByType[other])
  const unavailable = Object.assign(
    {},
    ...others.map((other) => reasons({ ...other.inbound, ...other.outbound }, ofOthers[type])),
  ) as Record<string, string>
  return {
    inbound: defineScope({
      names: inbound,
      aliases: nameAliases,
      unavailable: { ...unavailable, ...reasons(outbound, outboundOnly[type]) },
      lists,
    }),
    outbound: defineScope({ names: { ...inbound, ...outbound }, aliases: nameAliases, unavailable, lists }),
  }
}

function valuesTold(declared: DeclaredName): SeveralValues | undefined {
  const told = 'told' in declared ? declared.told : undefined
  if (typeof told === 'function') return told
  return typeof told === 'object' && !('whole' in told) ? told[1] : undefined
}

const severalValues = new Map(
  Object.entries(namesByType.http_request.inbound).map(([name, declared]) => [name, valuesTold(declared)]),
)

/** The values that servers may take for a name; undefined if they agree, or differ by the target alone. */
export const severalValuesOf = (name: string): SeveralValues | undefined => severalValues.get(name)

/** The scopes of policies, by the type of record. */
export const policyScopes: Readonly<Record<RecordType, PolicyScopes>> = {
  tcp_connection: scopesOf('tcp_connection'),
  http_request: scopesOf('http_request'),
}
