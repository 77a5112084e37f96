/**
 * Start here: records from outside, other than those that ingress nodes publish themselves. A **format** reads a line of a
 * proxy's log; it says what the line says (`Logged`), and this file makes a record of it. What a log does not say, such as
 * the name that all its requests were for, is **given** by whoever runs the command.
 */
import { canonicalAddress, isAddress } from '../core/address/ip.js'
import { ok, problem, type Result, shown } from '../core/errors.js'
import { recordBytesMax, recordIdCharsMax } from '../core/limits.js'
import { portOfScheme, splitHost, splitUri } from '../core/text/request-target.js'
import { complaintAboutRecord } from '../record/check.js'
import { parseJson } from '../record/record.js'

/** A value as logged. Empty text and `-` stand for no value. */
export type Value = string | number | null | undefined

/** What a line of a log says. Numbers may be text. */
export interface Logged {
  readonly type?: 'tcp_connection' | 'http_request'
  readonly record_id?: Value
  /** The address of the client, with or without its port: `203.0.113.7:52144`, `[2001:db8::1]:52144`. */
  readonly client?: Value
  readonly client_port?: Value
  /** The address that the client connected to, with or without the port. */
  readonly server?: Value
  /** The name that the client asked for, with or without the port. */
  readonly host?: Value
  readonly port?: Value
  readonly scheme?: Value
  readonly start?: Time
  readonly method?: Value
  /** Path and query, or a whole URL. */
  readonly uri?: Value
  readonly user_agent?: Value
  /** Bytes of the bodies. */
  readonly request_bytes?: Value
  readonly response_bytes?: Value
  readonly status?: Value
  readonly tls_version?: Value
  readonly tls_cipher?: Value
  /** The common name of the client's certificate. */
  readonly client_cn?: Value
  readonly username?: Value
  /** The end of a connection. */
  readonly end?: Time
  readonly bytes_in?: Value
  readonly bytes_out?: Value
}

/** Milliseconds since 1970, or a text as RFC 3339 writes it. */
type Time = number | string | undefined

export interface Format {
  readonly name: string
  /** For the help: which log it reads. */
  readonly about: string
  /** The problem is a sentence about the line. */
  read(line: string): Result<Logged>
  /** The line is a record already: nothing is made of it but a missing id, and what is given. */
  readonly isRecord?: true
}

/** For what a log does not say. */
export interface Given {
  readonly serverName?: string
  readonly serverPort?: number
  readonly edgeId?: string
}

/** The record of a line, as JSON. The problem is a sentence that names the member and its value. */
export function recordOfLine(format: Format, line: string, given: Given, id: string): Result<string> {
  const logged = format.read(line)
  if (!logged.ok) return logged
  const record = format.isRecord
    ? ok(completed(logged.value as Readonly<Record<string, unknown>>, given, id))
    : recordOf(logged.value, given, id)
  if (!record.ok) return record
  const complaint = complaintAboutRecord(record.value)
  if (complaint !== undefined) return problem(complaint)
  const text = JSON.stringify(record.value)
  const bytes = Buffer.byteLength(text)
  return bytes <= recordBytesMax
    ? ok(text)
    : problem(`The record has ${bytes} bytes; at most ${recordBytesMax} are allowed.`)
}

/** A record with what is missing in it. */
function completed(record: Readonly<Record<string, unknown>>, given: Given, id: string): object {
  const { conn } = record
  const { serverName, serverPort, edgeId } = given
  const named = { server_name: serverName, server_port: serverPort, ...withoutNull(conn) }
  return {
    record_id: id,
    ...(edgeId === undefined ? {} : { edge_id: edgeId }),
    ...withoutNull(record),
    ...(typeof conn === 'object' && conn !== null ? { conn: named } : {}),
  }
}

const withoutNull = (value: unknown): object =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => member !== null))

/** Also made of what OpenTelemetry's attributes say. */
export function recordOf(logged: Logged, given: Given, id: string): Result<object> {
  const url = targetOf(logged)
  const client = splitAddress(logged.client)
  if (client === undefined) return problem(noClient(logged.client))
  const server = splitAddress(logged.server)
  const host = splitHost(textOf(logged.host) ?? url?.host ?? given.serverName ?? '')
  const scheme = textOf(logged.scheme)?.toLowerCase() ?? url?.scheme
  const ofUrl = splitHost(url?.host ?? '')
  const urlPort = ofUrl.name === host.name ? ofUrl.port : undefined
  const loggedPort =
    numberOf(logged.port) ?? host.port ?? urlPort ?? server?.port ?? portOfScheme(scheme ?? '')
  const record = {
    record_id: requestIdOf(logged.record_id) ?? id,
    type: logged.type ?? 'http_request',
    edge_id: given.edgeId,
    conn: {
      client_ip: client.address,
      client_port: numberOf(logged.client_port) ?? client.port,
      server_ip: server?.address,
      server_name: host.name === '' ? undefined : host.name,
      server_port: given.serverPort ?? loggedPort ?? usualPort,
      start_ts: timeOf(logged.start),
    },
  }
  if (record.type === 'tcp_connection')
    return ok({ ...record, conn: { ...record.conn, ...trafficOf(logged) } })
  return ok({ ...record, ...requestOf(logged, { ...url, scheme, host: host.name }) })
}

/** Clients may choose the id of a request: one that no record may have is not taken. */
function requestIdOf(value: Value): string | undefined {
  const text = textOf(value)
  return text === undefined || [...text].length > recordIdCharsMax ? undefined : text
}

/** The port if a log shows neither port nor scheme. */
const usualPort = 443

const noClient = (client: Value): string =>
  textOf(client) === undefined
    ? 'It has no address of a client.'
    : `The client is ${shown(client)}, which is not an address.`

interface Url {
  readonly scheme?: string | undefined
  readonly host?: string | undefined
  readonly path?: string
  readonly query?: string | null
}

/** The target of a request (RFC 9112, section 3.2): a path with a query, a whole URL, an authority, or `*`. */
export function targetOf({ method, uri }: Pick<Logged, 'method' | 'uri'>): Url | undefined {
  const text = textOf(uri)
  if (text === undefined) return undefined
  if (textOf(method) === 'CONNECT') return { host: text }
  const { 1: scheme, 2: host, 3: rest } = /^([a-zA-Z][\w+.-]*):\/\/([^/?#]*)(.*)$/.exec(text) ?? []
  const split = text === '*' ? { path: '*' } : splitUri(rest ?? text)
  return { scheme: scheme?.toLowerCase(), host, ...split }
}

const requestOf = (logged: Logged, url: Url): object => ({
  http: {
    request: {
      method: textOf(logged.method),
      user_agent: textOf(logged.user_agent),
      body_length: numberOf(logged.request_bytes),
      url: { ...url, host: url.host === '' ? undefined : url.host, raw: textOf(logged.uri) },
    },
    response: { status_code: numberOf(logged.status), body_length: numberOf(logged.response_bytes) },
  },
  tls: {
    version: textOf(logged.tls_version),
    cipher_suite: textOf(logged.tls_cipher),
    client_cert: { subject: { cn: textOf(logged.client_cn) } },
  },
  basic_auth: { username: textOf(logged.username) },
})

const trafficOf = ({ end, bytes_in, bytes_out }: Logged): object => ({
  end_ts: timeOf(end),
  bytes_in: numberOf(bytes_in),
  bytes_out: numberOf(bytes_out),
})

// --- values ---

/** Undefined for no value. */
export function textOf(value: Value): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = String(value)
  return text === '' || text === '-' ? undefined : text
}

/** What is not a number is kept as it is: the record is then refused, and the reason shows it. */
function numberOf(value: Value): number | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  return /^[+-]?\d+$/.test(text) ? Number(text) : (text as unknown as number)
}

/** Undefined if it is no address. */
function splitAddress(value: Value): { readonly address: string; readonly port?: number } | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  if (isAddress(text)) return { address: canonicalAddress(text) }
  const { 1: bracketed, 2: plain, 3: port } = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? []
  const address = bracketed ?? plain
  if (!isAddress(address)) return undefined
  return { address: canonicalAddress(address), ...(port === undefined ? {} : { port: Number(port) }) }
}

function timeOf(time: Time): string | undefined {
  if (typeof time !== 'number') return textOf(time)
  const isTime = Math.abs(time) <= timeMsMax
  return isTime ? new Date(time).toISOString() : String(time)
}

/** The last time that a Date can hold (ECMA-262, section 21.4.1.1). */
const timeMsMax = 8.64e15

const months = 'JanFebMarAprMayJunJulAugSepOctNovDec'

/**
 * The time of the Common Log Format, `10/Oct/2026:13:55:36 -0700`, and HAProxy's, `10/Oct/2026:13:55:36.123`, which has no
 * zone and is taken for this machine's (TZ). Another text is returned as it is: the record is refused, and shows it.
 */
export function logTime(text: string): string | number {
  const match =
    /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?(?: ([+-]\d\d)(\d\d))?$/.exec(text)
  if (match === null) return text
  const [, day, monthName = '', year, hour, minute, second, millis = '000', zoneHours, zoneMinutes] = match
  const month = String(months.indexOf(monthName) / monthName.length + 1).padStart(2, '0')
  const time = `${year}-${month}-${day}T${hour}:${minute}:${second}.${millis}`
  return zoneHours === undefined ? new Date(time).getTime() : `${time}${zoneHours}:${zoneMinutes}`
}

/** A line that is a JSON object. */
export function jsonObject(line: string): Result<Readonly<Record<string, unknown>>> {
  const parsed = parseJson(Buffer.from(line))
  if (!parsed.ok) return parsed
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return problem('It is not a JSON object.')
  return ok(value as Readonly<Record<string, unknown>>)
}

/** The same, for a format that looks up its members. */
export function jsonLine(line: string): Result<Fields> {
  const object = jsonObject(line)
  return object.ok ? ok(new Fields(object.value)) : object
}

/** Members of a JSON object by name. */
export class Fields {
  readonly #members: Readonly<Record<string, unknown>>

  constructor(members: Readonly<Record<string, unknown>>) {
    this.#members = members
  }

  /** The first of these that has a value: text or a number; true and false as text. */
  get(...names: readonly string[]): Value {
    for (const name of names) {
      const value = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined
      const text = typeof value === 'boolean' ? String(value) : value
      if ((typeof text === 'string' || typeof text === 'number') && textOf(text) !== undefined) return text
    }
    return undefined
  }

  /** A member that is an object; none is one without members. */
  within(name: string): Fields {
    const value = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined
    const isObject = typeof value === 'object' && value !== null
    return new Fields(isObject ? (value as Readonly<Record<string, unknown>>) : {})
  }

  /** A number, also written as text; undefined if it is none. */
  number(...names: readonly string[]): number | undefined {
    const value = Number(this.get(...names) ?? Number.NaN)
    return Number.isFinite(value) ? value : undefined
  }
}

/** The common name in a distinguished name: `CN=alice,O=Example` (RFC 2253), or `/O=Example/CN=alice`. */
export const commonNameOf = (name: Value): string | undefined =>
  /(?:^|[,/])\s*CN=([^,/]+)/i.exec(String(name ?? ''))?.[1]
