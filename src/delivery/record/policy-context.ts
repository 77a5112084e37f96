/** The context of traffic policies' expressions: one record, and what was decided about it so far. */
import { type Address, parseAddress } from '../../ground/core/address/ip.js'
import type { GeoLookup } from './geo.js'
import type { Geo } from './geo-entry.js'
import { type TargetReadings, targetReadings } from './request-target.js'
import { HeaderLines, RequestValues } from './request-values.js'
import { normalizeMethod } from './spelling.js'
import type { ConnectionRecord, RequestRecord, TrafficRecord } from './traffic-record.js'
import { type Chosen, slots } from './value-choices.js'

export type IpDecision = 'allow' | 'block'

/** The IP lists of an account, as expressions ask for them. */
export interface AddressLists {
  /** False for a list that there is not. */
  isIn(list: string, address: Address): boolean
  /** The categories of the lists that contain the address, and those above them, each once. */
  categoriesOf(address: Address): readonly string[]
}

/** The categories of the client, for all decisions about a record: those of the lists that were asked last. */
interface KnownCategories {
  lists: AddressLists | undefined
  found: readonly string[]
}

const nothingKnown = (): KnownCategories => ({ lists: undefined, found: [] })

/** `written`: the path before it was put into small letters. */
interface PathRead {
  readonly path: string
  readonly written?: string
}

/** The source of the values of an expression: one record, and the decisions about it so far. */
export class PolicyContext {
  readonly record: TrafficRecord
  readonly conn: ConnectionRecord['conn']
  readonly edgeId: string | undefined
  /** Undefined until IP policies have decided, and afterwards if none applied. */
  ipDecision: IpDecision | undefined
  /** The lists of the account; undefined if it has none. */
  lists: AddressLists | undefined
  readonly #lookup: GeoLookup
  #client: Address | undefined
  #geo: Geo | undefined
  #categories: KnownCategories | undefined
  #values: RequestValues | undefined
  #answered: HeaderLines | undefined
  /** Null until they are asked for. */
  #readings: TargetReadings | undefined | null = null
  /** The reading of the path; undefined for what the record shows. */
  #reading: PathRead | undefined
  /** While an expression is evaluated to which the case of letters counts. */
  readsAsWritten = false
  /** Which of several values a name has in the present reading. */
  #chosen: Chosen | undefined

  constructor(record: TrafficRecord, edgeId: string | undefined, lookup: GeoLookup) {
    this.record = record
    this.conn = record.conn
    this.edgeId = edgeId
    this.#lookup = lookup
  }

  /** For another decision about the same record: what was parsed or looked up for one of them is there for both. */
  again(): PolicyContext {
    const other = new PolicyContext(this.record, this.edgeId, { lookup: () => this.geo })
    other.#client = this.client
    this.#categories ??= nothingKnown()
    other.#categories = this.#categories
    other.#values = this.values
    other.#readings = this.readings
    return other
  }

  /** For a decision about the same record in another reading of its target. */
  withPath(reading: PathRead): PolicyContext {
    const other = this.again()
    other.#reading = reading
    return other
  }

  /** In the same reading of the target, with other values of names that have several. */
  withValues(chosen: Chosen): PolicyContext {
    const other = this.again()
    other.#reading = this.#reading
    other.#chosen = chosen
    return other
  }

  /** The readings of the target of a request; undefined if all servers read it as the record shows it. */
  get readings(): TargetReadings | undefined {
    if (this.#readings === null)
      this.#readings = this.record.type === 'http_request' ? targetReadings(this.record) : undefined
    return this.#readings
  }

  /** The path of a request. */
  get path(): string | null | undefined {
    const { path, written = path } = this.#reading ?? {}
    return (this.readsAsWritten ? written : path) ?? this.request.http?.request?.url?.path
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

  /** Asked for on first use, like `geo`. */
  get categories(): readonly string[] {
    this.#categories ??= nothingKnown()
    const { lists } = this
    const known = this.#categories
    if (known.lists !== lists) {
      known.lists = lists
      known.found = lists?.categoriesOf(this.client) ?? []
    }
    return known.found
  }

  /** For names that only requests have. */
  get request(): RequestRecord {
    return this.record as RequestRecord
  }

  /** Headers, cookies and parameters, each with all of its values. */
  get values(): RequestValues {
    this.#values ??= new RequestValues(this.request.http?.request)
    return this.#values
  }

  /** The method of a request, in lower case. */
  get method(): string | undefined {
    const chosen = this.#chosen?.get(slots.method)
    return chosen === undefined ? normalizeMethod(this.request.http?.request?.method) : chosen.value
  }

  /** The query of a request, as it was sent. */
  get query(): string | null | undefined {
    const chosen = this.#chosen?.get(slots.query)
    return chosen === undefined ? this.request.http?.request?.url?.query : chosen.value
  }

  get userAgent(): string | null | undefined {
    const chosen = this.#chosen?.get(slots.header('user-agent'))
    return chosen === undefined ? this.request.http?.request?.user_agent : chosen.value
  }

  /** The first value of a header, whose name is in lower case. */
  header(name: string): string | undefined {
    const chosen = this.#chosen?.get(slots.header(name))
    return chosen === undefined ? this.values.headers.named(name)[0] : chosen.value
  }

  /** The first value of a cookie. */
  cookie(name: string): string | undefined {
    const chosen = this.#chosen?.get(slots.cookie(name))
    return chosen === undefined ? this.values.cookie(name)[0] : chosen.value
  }

  /** The first value of a parameter of the query. */
  parameter(name: string): string | undefined {
    const chosen = this.#chosen?.get(slots.parameter(name))
    return chosen === undefined ? this.values.parameter(name)[0] : chosen.value
  }

  /** The first value of a header of the response. */
  responseHeader(name: string): string | undefined {
    this.#answered ??= new HeaderLines(this.request.http?.response?.headers)
    return this.#answered.named(name)[0]
  }
}
