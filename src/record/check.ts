/**
 * The schema of records, checked by hand: this runs for every record, and a compiled schema would cost more than the
 * rest of the parse. A **complaint** is a sentence that names the member, its value and what is allowed.
 */

import { isPeerAddress } from '../core/address/ip.js'
import { memberName, wrong } from '../core/errors.js'
import { isObject, type JsonObject } from '../core/json-object.js'
import { recordIdCharsMax } from '../core/limits.js'
import { hasUtcYear, isTimestamp } from '../core/timestamp.js'
import { type RecordType, recordTypeOf, recordTypes } from './traffic-record.js'

type Complaint = string | undefined
type Check = (value: unknown, name: string) => Complaint

const portMax = 65_535
const int32Max = 2 ** 31 - 1

const isAbsent = (value: unknown): boolean => value === undefined || value === null

const text: Check = (value, name) =>
  typeof value === 'string' || isAbsent(value) ? undefined : wrong(name, value, 'a string')

const flag: Check = (value, name) =>
  typeof value === 'boolean' || isAbsent(value) ? undefined : wrong(name, value, 'true or false')

const port: Check = (value, name) =>
  isInteger(value, 0, portMax) || isAbsent(value)
    ? undefined
    : wrong(name, value, `an integer from 0 to ${portMax}`)

const count: Check = (value, name) =>
  isInteger(value, 0, Number.MAX_SAFE_INTEGER) || isAbsent(value)
    ? undefined
    : wrong(name, value, 'an integer from 0 to 2^53-1')

/** May be negative: compression can make a response larger. */
const integer: Check = (value, name) =>
  Number.isSafeInteger(value) || isAbsent(value)
    ? undefined
    : wrong(name, value, 'an integer from -(2^53-1) to 2^53-1')

/** May be negative: proxies report an aborted request like this. */
const status: Check = (value, name) =>
  isInteger(value, -int32Max - 1, int32Max) || isAbsent(value)
    ? undefined
    : wrong(name, value, 'an integer from -2^31 to 2^31-1')

const timestamp: Check = (value, name) =>
  isAbsent(value) || (typeof value === 'string' && isTimestamp(value) && hasUtcYear(value))
    ? undefined
    : wrong(name, value, 'an RFC 3339 time in the years 0000 to 9999 (UTC)')

/** An empty id is refused: treating it as absent could hide a mistake of the sender. */
const id: Check = (value, name) =>
  isAbsent(value) || (typeof value === 'string' && value !== '') ? undefined : wrong(name, value, 'an id')

const isInteger = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max

const headers: Check = (value, name) => {
  if (isAbsent(value)) return undefined
  if (!isObject(value)) return wrong(name, value, 'a map of lists of strings')
  for (const [header, values] of Object.entries(value)) {
    const listed = Array.isArray(values) && values.every((entry) => typeof entry === 'string')
    if (!listed) return wrong(`${name}.${memberName(header)}`, values, 'a list of strings')
  }
  return undefined
}

/** A group of members that may be absent as a whole. */
function group(value: unknown, name: string, complaintAbout: (members: JsonObject) => Complaint): Complaint {
  if (isAbsent(value)) return undefined
  return isObject(value) ? complaintAbout(value) : wrong(name, value, 'an object')
}

function recordId(value: unknown): Complaint {
  if (typeof value === 'string' && value.length >= 1 && isAtMost(value, recordIdCharsMax)) return undefined
  return wrong('record_id', value, `a string of 1 to ${recordIdCharsMax} characters`)
}

const isAtMost = (value: string, charsMax: number): boolean =>
  value.length <= charsMax || (value.length <= charsMax * 2 && [...value].length <= charsMax)

export interface RecordRules {
  /** Default: true. */
  readonly recordIdRequired?: boolean
  /** Times are known to be valid: checking them takes longer than the rest. */
  readonly timesChecked?: boolean
}

const published: RecordRules = {}

/** The first problem of a record; undefined if it is valid. Unknown members are ignored. */
export function complaintAboutRecord(record: unknown, rules: RecordRules = published): Complaint {
  if (!isObject(record)) return wrong('record', record, 'an object')
  const type = recordTypeOf(record['type'])
  if (type === undefined) return wrong('type', record['type'], knownTypes)
  const given = record['record_id']
  return (
    (rules.recordIdRequired !== false || !isAbsent(given) ? recordId(given) : undefined) ??
    id(record['account_id'], 'account_id') ??
    id(record['edge_id'], 'edge_id') ??
    (isObject(record['conn'])
      ? connection(record['conn'], rules)
      : wrong('conn', record['conn'], 'an object')) ??
    ownMembers[type](record)
  )
}

function connection(conn: JsonObject, { timesChecked }: RecordRules): Complaint {
  return (
    (isPeerAddress(conn['client_ip'])
      ? undefined
      : wrong('conn.client_ip', conn['client_ip'], 'an IPv4 or IPv6 address')) ??
    port(conn['client_port'], 'conn.client_port') ??
    text(conn['server_ip'], 'conn.server_ip') ??
    text(conn['server_name'], 'conn.server_name') ??
    port(conn['server_port'], 'conn.server_port') ??
    (timesChecked ? undefined : times(conn)) ??
    count(conn['bytes_in'], 'conn.bytes_in') ??
    count(conn['bytes_out'], 'conn.bytes_out')
  )
}

const times = (conn: JsonObject): Complaint =>
  timestamp(conn['start_ts'], 'conn.start_ts') ?? timestamp(conn['end_ts'], 'conn.end_ts')

/** Checks of the members that only records of a type have. */
const ownMembers: Readonly<Record<RecordType, (record: JsonObject) => Complaint>> = {
  tcp_connection: () => undefined,
  http_request: request,
}

const knownTypes = recordTypes.map((type) => `"${type}"`).join(' or ')

function request(record: JsonObject): Complaint {
  return (
    id(record['route_id'], 'route_id') ??
    group(record['http'], 'http', http) ??
    group(record['tls'], 'tls', tls) ??
    group(record['backend'], 'backend', (backend) =>
      flag(backend['connection_reused'], 'backend.connection_reused'),
    ) ??
    group(
      record['basic_auth'],
      'basic_auth',
      (auth) =>
        text(auth['decision'], 'basic_auth.decision') ?? text(auth['username'], 'basic_auth.username'),
    ) ??
    group(record['circuit_breaker'], 'circuit_breaker', (breaker) =>
      text(breaker['decision'], 'circuit_breaker.decision'),
    ) ??
    group(
      record['compression'],
      'compression',
      (compression) =>
        text(compression['algorithm'], 'compression.algorithm') ??
        integer(compression['bytes_saved'], 'compression.bytes_saved'),
    ) ??
    group(record['oauth'], 'oauth', oauth) ??
    group(record['user_agent_filter'], 'user_agent_filter', (filter) =>
      text(filter['decision'], 'user_agent_filter.decision'),
    ) ??
    group(record['webhook_verification'], 'webhook_verification', (verification) =>
      text(verification['decision'], 'webhook_verification.decision'),
    )
  )
}

function http(members: JsonObject): Complaint {
  return (
    group(
      members['request'],
      'http.request',
      (sent) =>
        count(sent['body_length'], 'http.request.body_length') ??
        headers(sent['headers'], 'http.request.headers') ??
        text(sent['method'], 'http.request.method') ??
        text(sent['user_agent'], 'http.request.user_agent') ??
        group(sent['url'], 'http.request.url', url),
    ) ??
    group(
      members['response'],
      'http.response',
      (answer) =>
        count(answer['body_length'], 'http.response.body_length') ??
        headers(answer['headers'], 'http.response.headers') ??
        status(answer['status_code'], 'http.response.status_code'),
    )
  )
}

const url = (members: JsonObject): Complaint =>
  text(members['host'], 'http.request.url.host') ??
  text(members['path'], 'http.request.url.path') ??
  text(members['query'], 'http.request.url.query') ??
  text(members['raw'], 'http.request.url.raw') ??
  text(members['scheme'], 'http.request.url.scheme')

const tls = (members: JsonObject): Complaint =>
  text(members['cipher_suite'], 'tls.cipher_suite') ??
  text(members['version'], 'tls.version') ??
  group(
    members['client_cert'],
    'tls.client_cert',
    (certificate) =>
      text(certificate['serial_number'], 'tls.client_cert.serial_number') ??
      group(certificate['subject'], 'tls.client_cert.subject', (subject) =>
        text(subject['cn'], 'tls.client_cert.subject.cn'),
      ),
  )

const oauth = (members: JsonObject): Complaint =>
  text(members['decision'], 'oauth.decision') ??
  text(members['app_client_id'], 'oauth.app_client_id') ??
  group(
    members['user'],
    'oauth.user',
    (user) => text(user['id'], 'oauth.user.id') ?? text(user['name'], 'oauth.user.name'),
  )
