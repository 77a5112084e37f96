/** Log records of OpenTelemetry as records: their attributes have the names of its semantic conventions. */

import { ok, problem, type Result } from '../../../ground/core/errors.js'
import { hash128 } from '../../../ground/core/ids.js'
import { recordBytesMax } from '../../../ground/core/limits.js'
import { type Logged, recordOf } from '../lines/format.js'
import { commonNameIn, textOf, type Value } from '../lines/values.js'

/** A value of an attribute, as protobuf's `oneof` is decoded. */
interface AnyValue {
  readonly value: { readonly case: string | undefined; readonly value?: unknown }
}

export interface Attribute {
  readonly key: string
  readonly value?: AnyValue
}

export interface LogRecord {
  readonly timeUnixNano: bigint
  readonly observedTimeUnixNano: bigint
  readonly attributes: readonly Attribute[]
  /** All of it as it was sent in JSON. */
  readonly sent?: unknown
}

/** A log record, with the attributes of its scope and its resource, which many share. */
export interface OtlpLog {
  readonly outer: readonly Attributes[]
  /** Throws an error if the record can't be decoded. */
  record(): LogRecord
}

/** A log record with an attribute of these namespaces is of a request; any other, of a connection. */
const ofRequests = /^(http|url)\./

/** Attributes by name; of equal names, the last one's value. */
export class Attributes {
  readonly #values: ReadonlyMap<string, Value>
  readonly isOfRequest: boolean
  /** Characters of the texts that records get from here. */
  readonly chars: number
  #digest: string | undefined

  constructor(attributes: readonly Attribute[] = []) {
    this.#values = new Map(attributes.map(({ key, value }) => [key, anyValue(value)]))
    this.chars = [...namesRead].reduce((sum, name) => sum + (textOf(this.get(name))?.length ?? 0), 0)
    this.isOfRequest = attributes.some(({ key }) => ofRequests.test(key))
  }

  get(name: string): Value {
    return this.#values.get(name)
  }

  get digest(): string {
    this.#digest ??= hash128(JSON.stringify([...this.#values]))
    return this.#digest
  }
}

/** Text, numbers and flags; lists and maps have no value. */
function anyValue({ value }: AnyValue = { value: { case: undefined } }): Value {
  if (value.case === 'doubleValue') return value.value as number
  const isText = value.case === 'stringValue' || value.case === 'intValue' || value.case === 'boolValue'
  return isText ? String(value.value) : undefined
}

interface Mapped {
  /** The member of a record that it becomes. */
  readonly field: string
  /** Attributes, the first that has a value. */
  readonly from: readonly string[]
  readonly note?: string
}

/** The uses of attributes, by the member of `Logged`. The table in `docs/ingress.md` is made from this. */
export const mappedAttributes = {
  record_id: {
    field: 'record_id',
    from: ['weir.record_id', 'log.record.uid'],
    note: 'else a hash of the log record',
  },
  edge_id: { field: 'edge_id', from: ['weir.edge_id'] },
  client: { field: 'conn.client_ip', from: ['client.address', 'network.peer.address'] },
  client_port: {
    field: 'conn.client_port',
    from: ['client.port', 'network.peer.port'],
    note: 'of the same pair as the address',
  },
  server: { field: 'conn.server_ip', from: ['network.local.address'] },
  host: {
    field: 'conn.server_name',
    from: ['server.address', 'url.domain'],
    note: 'else the host of `url.full`',
  },
  port: {
    field: 'conn.server_port',
    from: ['server.port', 'url.port', 'network.local.port'],
    note: 'else the port of the URL or of its scheme; else 443',
  },
  end: { field: 'conn.end_ts', from: ['weir.end_ts'], note: 'of a connection' },
  bytes_in: { field: 'conn.bytes_in', from: ['weir.bytes_in'], note: 'of a connection' },
  bytes_out: { field: 'conn.bytes_out', from: ['weir.bytes_out'], note: 'of a connection' },
  method: {
    field: 'http.request.method',
    from: ['http.request.method_original', 'http.request.method'],
  },
  user_agent: { field: 'http.request.user_agent', from: ['user_agent.original'] },
  request_bytes: { field: 'http.request.body_length', from: ['http.request.body.size'] },
  uri: {
    field: 'http.request.url',
    from: ['url.full', 'url.path'],
    note: 'with `url.query`, if it is the path',
  },
  scheme: { field: 'http.request.url.scheme', from: ['url.scheme'] },
  status: { field: 'http.response.status_code', from: ['http.response.status_code'] },
  response_bytes: { field: 'http.response.body_length', from: ['http.response.body.size'] },
  tls_version: {
    field: 'tls.version',
    from: ['tls.protocol.version'],
    note: '`1.3` becomes `TLSv1.3`',
  },
  tls_cipher: { field: 'tls.cipher_suite', from: ['tls.cipher'] },
  client_cn: {
    field: 'tls.client_cert.subject.cn',
    from: ['tls.client.subject'],
    note: 'its common name',
  },
} as const satisfies Partial<Record<keyof Logged | 'edge_id', Mapped>>

const namesRead: ReadonlySet<string> = new Set([
  ...Object.values(mappedAttributes).flatMap(({ from }) => from),
  'url.query',
])

/** Headers, of the log record itself, by name: `http.request.header.content-type`. */
export const headerAttributes = {
  request: { field: 'http.request.headers', prefix: 'http.request.header.' },
  response: { field: 'http.response.headers', prefix: 'http.response.header.' },
} as const

/** The record of a log record. Throws an error if it can't be decoded. */
export function recordOfLog({ outer, record }: OtlpLog): Result<object> {
  const log = record()
  const all = [new Attributes(log.attributes), ...outer]
  // Before anything is made of it: thousands of log records may share what is too large.
  const chars = all.reduce((sum, each) => sum + each.chars, 0)
  if (chars > recordBytesMax)
    return problem(`Its attributes have ${chars} characters; a record has at most ${recordBytesMax} bytes.`)
  const edgeId = textOf(firstOf(all, mappedAttributes.edge_id.from))
  const made = recordOf(loggedBy(log, all), edgeId === undefined ? {} : { edgeId }, identityOf(log, outer))
  return made.ok ? ok(withHeaders(made.value, log.attributes)) : made
}

interface MadeRecord {
  readonly http?: { readonly request: object; readonly response: object }
}

function withHeaders(record: MadeRecord, attributes: readonly Attribute[]): object {
  if (record.http === undefined) return record
  const { request, response } = record.http
  const headers = {
    request: headersIn(attributes, headerAttributes.request.prefix),
    response: headersIn(attributes, headerAttributes.response.prefix),
  }
  return {
    ...record,
    http: {
      request: { ...request, headers: headers.request },
      response: { ...response, headers: headers.response },
    },
  }
}

/** Undefined without any, as most proxies log none. */
function headersIn(attributes: readonly Attribute[], prefix: string): object | undefined {
  const found = attributes.filter(({ key }) => key.startsWith(prefix))
  if (found.length === 0) return undefined
  return Object.fromEntries(found.map(({ key, value }) => [key.slice(prefix.length), textsOf(value)]))
}

/** A list of texts, or one text. */
function textsOf(value: AnyValue | undefined): string[] {
  const values = value?.value.case === 'arrayValue' ? (value.value.value as List).values : [value]
  return values.flatMap((each) => textOf(anyValue(each)) ?? [])
}

interface List {
  readonly values: readonly AnyValue[]
}

function loggedBy(log: LogRecord, all: readonly Attributes[]): Logged {
  const values = Object.fromEntries(
    Object.entries(mappedAttributes).map(([member, { from }]) => [member, firstOf(all, from)]),
  )
  const isRequest = all.some(({ isOfRequest }) => isOfRequest)
  const side = textOf(firstOf(all, ['client.address'])) === undefined ? 'network.peer' : 'client'
  return {
    ...values,
    type: isRequest ? 'http_request' : 'tcp_connection',
    client_port: firstOf(all, [`${side}.port`]),
    start: timeOf(log.timeUnixNano || log.observedTimeUnixNano),
    end: values['end'] as string | undefined,
    uri: uriOf(all),
    tls_version: tlsVersionOf(values['tls_version']),
    client_cn: commonNameIn(values['client_cn']),
  }
}

/** The first of the attributes that has a value: the record's own before its scope's and its resource's. */
function firstOf(all: readonly Attributes[], names: readonly string[]): Value {
  for (const name of names)
    for (const attributes of all) {
      const value = attributes.get(name)
      if (textOf(value) !== undefined) return value
    }
  return undefined
}

function uriOf(all: readonly Attributes[]): string | undefined {
  const full = textOf(firstOf(all, ['url.full']))
  const path = textOf(firstOf(all, ['url.path']))
  const query = textOf(firstOf(all, ['url.query']))
  return full ?? (path === undefined || query === undefined ? path : `${path}?${query}`)
}

/** As proxies write it. */
function tlsVersionOf(version: Value): string | undefined {
  const text = textOf(version)
  return text !== undefined && /^\d/.test(text) ? `TLSv${text}` : text
}

const nanosPerSecond = 1_000_000_000n

/** RFC 3339, to the nanosecond; undefined for a time that is not known. */
function timeOf(nanos: bigint): string | undefined {
  if (nanos === 0n) return undefined
  const seconds = new Date(Number(nanos / nanosPerSecond) * 1_000).toISOString().slice(0, 19)
  return `${seconds}.${String(nanos % nanosPerSecond).padStart(9, '0')}Z`
}

/** Equal for a log record that is sent again. */
const identityOf = (log: LogRecord, outer: readonly Attributes[]): string =>
  hash128(
    JSON.stringify(log, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    ...outer.map(({ digest }) => digest),
  )
