/**
 * Start here: records from outside, other than those that ingress nodes publish themselves. A **format** reads a line of a
 * proxy's log; it says what the line says (`Logged`), and this file makes a record of it. What a log does not say, such as
 * the name that all its requests were for, is **given** by whoever runs the command.
 */
import { now } from '../../../ground/core/clock.js'
import { fail, ok, problem, type Result, shown } from '../../../ground/core/errors.js'
import { ownTimeYears, recordBytesMax, recordIdCharsMax } from '../../../ground/core/limits.js'
import { portOfScheme, splitHost } from '../../../ground/core/text/request-target.js'
import { complaintAboutRecord } from '../../record/check.js'
import { outsideOf, ownTimeOf } from '../../record/own-time.js'
import type { TrafficRecord } from '../../record/traffic-record.js'
import type { DurationUnit } from './duration-unit.js'
import { headTime, type Time, timeOf } from './log-time.js'
import { targetOf, type Url } from './request-line.js'
import { numberOf, splitAddress, textOf, type Value } from './values.js'

/** The contents of a line of a log. Numbers may be text. */
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
  /** Path and query, or a whole URL, as the client sent it. */
  readonly uri?: Value
  /** If the log has no `uri`: the path that the server decoded, and the query as it was sent. */
  readonly path?: Value
  readonly query?: Value
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
  /** A doubt about a line that could be read, as a sentence. */
  readonly doubt?: string | undefined
  /** A sentence for a line without a time, if more can be said than that it has none. */
  readonly timeless?: string | undefined
}

/** A line of a log, and the time of what was put around it (`ingest/log-envelope.ts`), as it stands there. */
export interface FramedLine {
  readonly text: string
  readonly loggedAt?: string | undefined
}

/**
 * A writer's page: what is known about a program that writes such lines, and from where. Readers follow it,
 * `docs/log-formats.md` shows it, and tests send hostile requests through the programs themselves.
 */
export interface Writer {
  readonly program: string
  /** The escapes of bytes that could be mistaken for something else. */
  readonly escapes: string
  /** The sign for no value. */
  readonly nothing: string
  /** Who is the client behind no proxy, one, and two trusted ones. */
  readonly client: string
  readonly times: string
  /** Facts that the lines can't keep. */
  readonly lost: string
  /** Manuals, and files of the program's source. */
  readonly sources: readonly string[]
}

export interface Format {
  readonly name: string
  /** For the help: which log it reads. */
  readonly about: string
  /** The programs that write it, as far as they are known. */
  readonly writers?: readonly Writer[]
  /** The problem is a sentence about the line. */
  read(line: string, given?: Given): Result<Logged>
  /** The line is a record already: nothing is made of it but a missing id, and what is given. */
  readonly isRecord?: true
}

/** For what a log does not say. */
export interface Given {
  readonly serverName?: string
  readonly serverPort?: number
  readonly edgeId?: string
  readonly accountId?: string
  readonly caddyDuration?: DurationUnit
}

/**
 * The record of a line, as JSON. If the line has no time, its record has that of what was put around it. The problem is a
 * sentence that names the member and its value. `doubt` gets a sentence for what may be wrong with a record, or missing in
 * it; `made` gets the record.
 */
export function recordOfLine(
  format: Format,
  { text: line, loggedAt }: FramedLine,
  given: Given,
  id: string,
  doubt: (sentence: string) => void = () => {},
  made: (record: object) => void = () => {},
): Result<string> {
  const logged = format.read(line, given)
  if (!logged.ok) return logged
  const record = format.isRecord
    ? ok(completed(logged.value as Readonly<Record<string, unknown>>, given, id))
    : recordOf(logged.value, given, id)
  if (!record.ok) return placed(record.problem.msg, line, textOf(logged.value.client))
  if (loggedAt !== undefined) addTime(record.value, loggedAt)
  const complaint = complaintAboutRecord(record.value)
  if (complaint !== undefined) return placed(complaint, line, valueNamed(complaint, record.value))
  const text = JSON.stringify(record.value)
  const bytes = Buffer.byteLength(text)
  if (bytes > recordBytesMax)
    return problem(`The record has ${bytes} bytes; at most ${recordBytesMax} are allowed.`)
  for (const sentence of doubtsAbout(record.value, logged.value)) doubt(sentence)
  made(record.value)
  return ok(text)
}

interface Timed {
  readonly conn?: { start_ts?: string; readonly end_ts?: string }
}

function addTime({ conn }: Timed, loggedAt: string): void {
  if (typeof conn !== 'object' || conn.start_ts !== undefined || conn.end_ts !== undefined) return
  const time = timeOf(headTime(loggedAt, now()))
  if (time !== undefined) conn.start_ts = time
}

function* doubtsAbout(record: object, { doubt, timeless }: Logged): Generator<string> {
  const { edge_id, conn } = record as { edge_id?: unknown; conn?: { server_name?: unknown } }
  if (!edge_id && !conn?.server_name)
    yield 'It names no server and no edge, so no edge serves it: give --server-name or --edge.'
  const ownMs = ownTimeOf(record as TrafficRecord)
  const outside = ownMs === undefined ? undefined : outsideOf(ownMs, now())
  if (outside === 'past')
    yield `It began more than ${ownTimeYears} years ago: it counts at the time when it is stored.`
  if (outside === 'ahead') yield 'It begins in the future: it counts at the time when it is stored.'
  if (doubt !== undefined) yield doubt
  if (ownMs === undefined) yield timeless ?? 'It does not say when it began.'
}

/** With the column of the value that is wrong, if the line has it as it is. */
function placed(msg: string, line: string, value: unknown): Result<never> {
  const index = typeof value === 'number' ? line.search(numberForm(value)) : textIndex(line, value)
  return fail(index === -1 ? { msg } : { msg, column: index + 1 })
}

const textIndex = (line: string, value: unknown): number =>
  typeof value === 'string' && value !== '' ? line.indexOf(value) : -1

/** As a whole, not as a part of another one. */
const numberForm = (value: number): RegExp =>
  new RegExp(String.raw`(?<![\w.-])${String(value).replaceAll(/[.+]/g, '\\$&')}(?![\w.-])`)

/** The value that a complaint is about: it begins with the path of the member in quotes. */
const valueNamed = (complaint: string, record: object): unknown =>
  /^"([\w.]+)" is /
    .exec(complaint)?.[1]
    ?.split('.')
    .reduce<unknown>(
      (value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name],
      record,
    )

/** A record with what is missing in it. */
function completed(record: Readonly<Record<string, unknown>>, given: Given, id: string): object {
  const { conn } = record
  const { serverName, serverPort, edgeId, accountId } = given
  const named = { server_name: serverName, server_port: serverPort, ...withoutNull(conn) }
  return {
    record_id: id,
    ...(edgeId === undefined ? {} : { edge_id: edgeId }),
    ...(accountId === undefined ? {} : { account_id: accountId }),
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
  const urlPort = ofUrl.name.toLowerCase() === host.name.toLowerCase() ? ofUrl.port : undefined
  const loggedPort =
    numberOf(logged.port) ?? host.port ?? urlPort ?? server?.port ?? portOfScheme(scheme ?? '')
  const record = {
    record_id: requestIdOf(logged.record_id) ?? id,
    type: logged.type ?? 'http_request',
    account_id: given.accountId,
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

const requestOf = (logged: Logged, url: Url): object => ({
  http: {
    request: {
      method: textOf(logged.method),
      user_agent: textOf(logged.user_agent),
      body_length: numberOf(logged.request_bytes),
      url: { ...url, host: url.host === '' ? undefined : url.host, raw: textOf(logged.uri) },
    },
    response: { status_code: statusOf(logged.status), body_length: numberOf(logged.response_bytes) },
  },
  tls: {
    version: textOf(logged.tls_version),
    cipher_suite: textOf(logged.tls_cipher),
    client_cert: { subject: { cn: textOf(logged.client_cn) } },
  },
  basic_auth: { username: textOf(logged.username) },
})

/** nginx, Caddy and HAProxy write 0 or -1 if nothing was answered. */
function statusOf(value: Value): number | undefined {
  const status = numberOf(value)
  return typeof status === 'number' && status <= 0 ? undefined : status
}

const trafficOf = ({ end, bytes_in, bytes_out }: Logged): object => ({
  end_ts: timeOf(end),
  bytes_in: numberOf(bytes_in),
  bytes_out: numberOf(bytes_out),
})
