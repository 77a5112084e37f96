/** Every type of record, with the members that Weir reads. `record-fields.ts` describes each of them. */

/** Absent members of a record may be left out or null. */
type Optional<T> = T | null | undefined

interface Connection {
  /** A valid address in its one spelling. */
  readonly client_ip: string
  readonly client_port?: Optional<number>
  /** An address in its one spelling, or what was sent instead. */
  readonly server_ip?: Optional<string>
  /** As given. */
  readonly server_name?: Optional<string>
  readonly server_port?: Optional<number>
  /** RFC 3339, as given; events and expressions show it in UTC, with six fractional digits. */
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

interface WithDecision {
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
  readonly basic_auth?: Optional<WithDecision & { readonly username?: Optional<string> }>
  readonly circuit_breaker?: Optional<WithDecision>
  readonly compression?: Optional<{
    readonly algorithm?: Optional<string>
    readonly bytes_saved?: Optional<number>
  }>
  readonly oauth?: Optional<
    WithDecision & {
      readonly app_client_id?: Optional<string>
      readonly user?: Optional<{ readonly id?: Optional<string>; readonly name?: Optional<string> }>
    }
  >
  readonly user_agent_filter?: Optional<WithDecision>
  readonly webhook_verification?: Optional<WithDecision>
}

/** Every type of record. */
export interface RecordsByType {
  readonly tcp_connection: ConnectionRecord
  readonly http_request: RequestRecord
}

export type RecordType = keyof RecordsByType

export type TrafficRecord = RecordsByType[RecordType]

const recordTypeFlags: Readonly<Record<RecordType, true>> = { tcp_connection: true, http_request: true }

export const recordTypes = Object.keys(recordTypeFlags) as readonly RecordType[]

/**
 * The type of that name; undefined if there is none. The returned text is always the same object: V8 finds a member by it in
 * a tenth of the time that a text out of JSON takes (Node 20).
 */
export const recordTypeOf = (name: unknown): RecordType | undefined =>
  recordTypes.find((type) => type === name)
