/**
 * The one declaration of records: the type, unit and meaning of each field of each type of record. From here come the types
 * of TypeScript (`traffic-record.ts`), the check of every record (`check.ts`), JSON Schemas, the patterns of known shapes, the
 * documentation, and the descriptions of event fields.
 */
import { recordIdCharsMax } from '../../ground/core/limits.js'

/**
 * - `id`: text that is not empty
 * - `address`: an IPv4 or IPv6 address
 * - `timestamp`: RFC 3339
 * - `port`: 0 to 65535
 * - `count`: 0 to 2^53-1
 * - `int64`: -(2^53-1) to 2^53-1
 * - `int32`: -2^31 to 2^31-1
 * - `headers`: lists of values by name
 */
export type RecordFieldType =
  | 'text'
  | 'id'
  | 'address'
  | 'timestamp'
  | 'port'
  | 'count'
  | 'int64'
  | 'int32'
  | 'bool'
  | 'headers'

/** The description of a field for people. */
export interface FieldText {
  /** One sentence. */
  readonly about: string
  readonly unit?: string
}

export interface RecordField extends FieldText {
  readonly type: RecordFieldType
  readonly required?: true
  /** The most characters that an id may have. */
  readonly charsMax?: number
}

const field =
  <Type extends RecordFieldType>(type: Type) =>
  (about: string, unit?: string): RecordField & { readonly type: Type } => ({
    type,
    about,
    ...(unit === undefined ? {} : { unit }),
  })

const text = field('text')
const id = field('id')
const port = field('port')
const count = field('count')
const timestamp = field('timestamp')
const headers = field('headers')

const common = {
  record_id: {
    ...id(`Unique id of 1 to ${recordIdCharsMax} characters; a repeated record repeats its id.`),
    charsMax: recordIdCharsMax,
    required: true,
  },
  account_id: id('The account; needed only if no edge serves the record.'),
  edge_id: id('The edge; without it, the edge that serves conn.server_name and conn.server_port.'),
} as const

const conn = {
  'conn.client_ip': { ...field('address')('The address of the client.'), required: true },
  'conn.client_port': port('The port of the client.'),
  'conn.server_ip': text('The address that the client connected to.'),
  'conn.server_name': text('The host name that the client asked for.'),
  'conn.server_port': port('The port that the client connected to.'),
  'conn.start_ts': timestamp('When the connection began.'),
} as const

export const recordFields = {
  tcp_connection: {
    ...common,
    ...conn,
    'conn.end_ts': timestamp('When the connection ended.'),
    'conn.bytes_in': count('Bytes that the client sent.', 'bytes'),
    'conn.bytes_out': count('Bytes that were sent to the client.', 'bytes'),
  },
  http_request: {
    ...common,
    route_id: id('The route of the HTTPS edge; without it, the route that matches the path.'),
    ...conn,
    'http.request.body_length': count('Length of the body of the request.', 'bytes'),
    'http.request.headers': headers('Headers of the request.'),
    'http.request.method': text('Method of the request.'),
    'http.request.user_agent': text('User agent of the client.'),
    'http.request.url.host': text('Host of the URL.'),
    'http.request.url.path': text('Path of the URL.'),
    'http.request.url.query': text('Query of the URL.'),
    'http.request.url.raw': text('The target of the request as it was sent, or the whole URL.'),
    'http.request.url.scheme': text('Scheme of the URL.'),
    'http.response.body_length': count('Length of the body of the response.', 'bytes'),
    'http.response.headers': headers('Headers of the response.'),
    'http.response.status_code': field('int32')('Status code of the response.'),
    'tls.cipher_suite': text('Cipher suite of the TLS connection.'),
    'tls.version': text('Version of TLS.'),
    'tls.client_cert.serial_number': text('Serial number of the client certificate.'),
    'tls.client_cert.subject.cn': text('Common name of the client certificate.'),
    'backend.connection_reused': field('bool')('Whether an existing connection to the backend was used.'),
    'basic_auth.decision': text('What basic authentication decided.'),
    'basic_auth.username': text('User name given for basic authentication.'),
    'circuit_breaker.decision': text('What the circuit breaker decided.'),
    'compression.algorithm': text('Algorithm that compressed the response.'),
    'compression.bytes_saved': field('int64')(
      'Bytes saved by compression; negative if the response grew.',
      'bytes',
    ),
    'oauth.decision': text('What OAuth decided.'),
    'oauth.app_client_id': text('Client id of the OAuth application.'),
    'oauth.user.id': text('Id of the user who logged in with OAuth.'),
    'oauth.user.name': text('Name of the user who logged in with OAuth.'),
    'user_agent_filter.decision': text('What the user agent filter decided.'),
    'webhook_verification.decision': text('What the verification of webhooks decided.'),
  },
} as const

/** Every type of record. */
export type RecordType = keyof typeof recordFields

const ofConnections = Object.values(recordFields).flatMap((fields) =>
  Object.entries<RecordField>(fields).filter(([name]) => name.startsWith('conn.')),
)

/**
 * The fields that are checked in a record of the type: its own, and those that connections have in records of any type,
 * because not all that reads them asks for the type (`own-time.ts`).
 */
export const fieldsChecked = (type: RecordType): readonly (readonly [name: string, field: RecordField])[] =>
  Object.entries<RecordField>({ ...recordFields[type], ...Object.fromEntries(ofConnections) })

/** The declaration of a field of this name in a record type. */
export const recordFieldOf = (type: RecordType, name: string): RecordField | undefined => {
  const fields: Readonly<Record<string, RecordField>> = recordFields[type]
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}
