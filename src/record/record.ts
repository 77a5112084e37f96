/**
 * What ingress nodes publish: a **message** holds one JSON record or several, one per **line** (NDJSON). A record
 * tells of one connection or one request that has ended. What a record claims beyond its schema is ignored, and
 * what a record says is never trusted further than its schema: nothing here copies members by their names.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { fail, messageOf, ok, problem, type Result, shown } from '../core/errors.js'
import { recordBytesMax } from '../core/limits.js'
import { complaintAboutRecord } from './check.js'
import { spellAlike } from './spelling.js'

/** Absent members of a record may be left out or null. */
type Optional<T> = T | null | undefined

export interface Connection {
  /** A valid address in its one spelling. */
  readonly client_ip: string
  readonly client_port?: Optional<number>
  /** An address in its one spelling, or what was sent instead. */
  readonly server_ip?: Optional<string>
  /** As given. */
  readonly server_name?: Optional<string>
  readonly server_port?: Optional<number>
  /** In UTC, with six fractional digits. */
  readonly start_ts?: Optional<string>
}

interface RecordBase {
  readonly record_id: string
  readonly account_id?: Optional<string>
  readonly edge_id?: Optional<string>
}

/** A TCP connection that was closed. */
export interface ConnectionRecord extends RecordBase {
  readonly type: 'tcp_connection'
  readonly conn: Connection & {
    readonly end_ts?: Optional<string>
    readonly bytes_in?: Optional<number>
    readonly bytes_out?: Optional<number>
  }
}

/** Header names as they were sent, each with its values in order. */
export type Headers = Readonly<Record<string, readonly string[]>>

interface Decided {
  readonly decision?: Optional<string>
}

/** An HTTP request that is complete. */
export interface RequestRecord extends RecordBase {
  readonly type: 'http_request'
  readonly route_id?: Optional<string>
  readonly conn: Connection
  readonly http?: Optional<{
    readonly request?: Optional<{
      readonly body_length?: Optional<number>
      readonly headers?: Optional<Headers>
      readonly method?: Optional<string>
      readonly user_agent?: Optional<string>
      readonly url?: Optional<{
        readonly host?: Optional<string>
        readonly path?: Optional<string>
        readonly query?: Optional<string>
        readonly raw?: Optional<string>
        readonly scheme?: Optional<string>
      }>
    }>
    readonly response?: Optional<{
      readonly body_length?: Optional<number>
      readonly headers?: Optional<Headers>
      readonly status_code?: Optional<number>
    }>
  }>
  readonly tls?: Optional<{
    readonly cipher_suite?: Optional<string>
    readonly version?: Optional<string>
    readonly client_cert?: Optional<{
      readonly serial_number?: Optional<string>
      readonly subject?: Optional<{ readonly cn?: Optional<string> }>
    }>
  }>
  readonly backend?: Optional<{ readonly connection_reused?: Optional<boolean> }>
  readonly basic_auth?: Optional<Decided & { readonly username?: Optional<string> }>
  readonly circuit_breaker?: Optional<Decided>
  readonly compression?: Optional<{
    readonly algorithm?: Optional<string>
    readonly bytes_saved?: Optional<number>
  }>
  readonly oauth?: Optional<
    Decided & {
      readonly app_client_id?: Optional<string>
      readonly user?: Optional<{ readonly id?: Optional<string>; readonly name?: Optional<string> }>
    }
  >
  readonly user_agent_filter?: Optional<Decided>
  readonly webhook_verification?: Optional<Decided>
}

export type TrafficRecord = ConnectionRecord | RequestRecord

export type RecordType = TrafficRecord['type']

const lineFeed = 0x0a
const space = 0x20
const tab = 0x09
const carriageReturn = 0x0d

/** One line of a message; its bytes are a view of the message's. */
export interface Line {
  /** Counted from 1, blank lines included. */
  readonly number: number
  readonly bytes: Buffer
}

/** The lines of a message that are not blank. */
export function parseMessage(bytes: Uint8Array): Line[] {
  const message = bufferOf(bytes)
  const lines: Line[] = []
  let number = 0
  for (let start = 0; start < message.length; ) {
    number += 1
    const lineEnd = message.indexOf(lineFeed, start)
    const end = lineEnd === -1 ? message.length : lineEnd
    if (!isBlank(message, start, end)) lines.push({ number, bytes: message.subarray(start, end) })
    start = end + 1
  }
  return lines
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]
    if (byte !== space && byte !== tab && byte !== carriageReturn) return false
  }
  return true
}

/** Reads one record, in its one spelling; the problem is one sentence that names the member and its value. */
export function parseRecord(line: Uint8Array): Result<TrafficRecord> {
  const parsed = parseJson(line)
  if (!parsed.ok) return parsed
  const complaint = complaintAboutRecord(parsed.value)
  return complaint === undefined ? ok(spellAlike(parsed.value as TrafficRecord)) : problem(complaint)
}

/** What an ingress node asks of before it lets a connection in. */
export interface DecisionRequest {
  readonly record: TrafficRecord
  readonly explain: boolean
}

/** Reads a record, in its one spelling, whose `record_id` may be missing, with `explain` beside it, from parsed JSON. */
export function parseDecisionRequest(value: unknown): Result<DecisionRequest> {
  const complaint = complaintAboutRecord(value, { recordIdRequired: false })
  if (complaint !== undefined) return problem(complaint)
  const request = value as TrafficRecord & { readonly explain?: unknown }
  const explain = request.explain ?? false
  if (typeof explain !== 'boolean')
    return problem(`"explain" is ${shown(explain)}; it must be true or false.`)
  return ok({ record: spellAlike(request), explain })
}

/** Any JSON value of at most 64 KiB. */
export function parseJson(bytes: Uint8Array): Result<unknown> {
  if (bytes.byteLength > recordBytesMax) {
    return problem(`It has ${bytes.byteLength} bytes; at most ${recordBytesMax} are allowed.`)
  }
  const text = textOf(bytes)
  if (text === undefined) return problem('It is not UTF-8.')
  try {
    return ok(JSON.parse(text))
  } catch (error) {
    return fail({ msg: `It is not JSON: ${messageOf(error)}.` })
  }
}

/** The text of UTF-8 bytes; undefined where they are none. Most are ASCII, which is decoded three times as fast. */
function textOf(bytes: Uint8Array): string | undefined {
  const buffer = bufferOf(bytes)
  if (isAscii(buffer)) return buffer.toString('latin1')
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined
}

const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
