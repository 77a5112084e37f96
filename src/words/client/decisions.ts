/** The decisions of the log, newest first. */
import type { LoggedDecision } from '../shape/decisions/logged-decision.js'
import type { Stats } from '../shape/stats.js'
import type { TracedRecord } from '../shape/traced-record.js'
import type { Http, Request } from './http.js'

/** By which time decisions are searched and counted. */
export type RowTime = 'stored' | 'own'

export interface DecisionsOptions {
  /** An expression over the members of a decision. */
  readonly filter?: string
  /** An address, or a range in CIDR notation. */
  readonly client?: string
  /** `allow`, `block` or `deny`; several are separated by commas. */
  readonly decision?: string
  /** `none`, `restriction`, `ip_restriction`, `traffic_policy` or `unserved`; several are separated by commas. */
  readonly decidedBy?: string
  readonly policy?: string
  /** Several are separated by commas, up to 100. */
  readonly edgeId?: string
  readonly routeId?: string
  readonly country?: string
  /** The number of an autonomous system. */
  readonly asn?: number | string
  readonly recordId?: string
  /** The deny rule that blocked. */
  readonly ruleId?: string
  /** `record`, `asked` or `history`, several with commas; all by default. */
  readonly source?: string
  /** The times that `since`, `until` and the order go by: `stored`, or the `own` times of records. */
  readonly time?: RowTime
  /** Decisions at this time (RFC 3339) or later; or a length of time before now, such as `24h`. */
  readonly since?: string
  /** Decisions before this time; like `since`. */
  readonly until?: string
  /** Decisions in a page: 1 to 100. */
  readonly limit?: number
}

export interface DecideOptions {
  /** Decides with the configuration as it was then. */
  readonly revision?: number
  /** The decision about a name that no edge of the account serves. */
  readonly unserved?: 'allow' | 'deny'
}

interface Page {
  readonly decisions: readonly LoggedDecision[]
  readonly next_page_uri: string | null
}

type Selecting = Pick<DecisionsOptions, 'decidedBy' | 'edgeId' | 'routeId' | 'recordId' | 'ruleId'>

/** The parameters by their names in the API. */
export const selectingQuery = ({
  decidedBy,
  edgeId,
  routeId,
  recordId,
  ruleId,
  ...options
}: Selecting): NonNullable<Request['query']> => ({
  ...options,
  decided_by: decidedBy,
  edge_id: edgeId,
  route_id: routeId,
  record_id: recordId,
  rule_id: ruleId,
})

/**
 * Says how far a search has come. A page may have few decisions or none, and be followed by another one: each is searched
 * for some seconds at most.
 */
export interface DecisionsPage {
  readonly decisions: readonly LoggedDecision[]
  /** Down to this time all are known: RFC 3339. Null: there are no more. */
  readonly reached_at: string | null
}

/** Pages are fetched as they are needed. */
export async function* decisionPages(
  http: Http,
  options: DecisionsOptions,
): AsyncGenerator<DecisionsPage, void, undefined> {
  for (let query = selectingQuery(options); ; ) {
    const { decisions, next_page_uri } = await http.send<Page>('GET', '/decisions', { query })
    if (next_page_uri === null) {
      yield { decisions, reached_at: null }
      return
    }
    // The URI may have a base that this client can't reach, so only its query is used.
    query = Object.fromEntries(new URL(next_page_uri).searchParams)
    yield { decisions, reached_at: timeOfPlace(String(query['before_id'])) }
  }
}

export async function* loggedDecisions(
  http: Http,
  options: DecisionsOptions,
): AsyncGenerator<LoggedDecision, void, undefined> {
  for await (const { decisions } of decisionPages(http, options)) yield* decisions
}

/** The place of a decision in a list begins with its time in milliseconds; in one by own times, it ends with that. */
function timeOfPlace(place: string): string {
  const parts = place.split('-')
  return new Date(Number(parts[4] ?? parts[0])).toISOString()
}

export interface WatchOptions {
  /** An expression over the members of a decision, `decision != 'allow'`, or of a delivery. */
  readonly filter?: string | undefined
  /** The earlier name of `filter`. */
  readonly where?: string | undefined
  readonly signal?: AbortSignal
  /** Called once a second with the numbers of lines that were sent and left out. */
  readonly rate?: (rate: WatchRate) => void
}

export interface WatchDecisionsOptions extends WatchOptions {
  /** Id of an edge. */
  readonly edge?: string | undefined
}

/** Counts of one second of watching. */
export interface WatchRate {
  readonly seen: number
  /** A sample, if there are many. */
  readonly sent: number
  /** Not sent, because the client reads too slowly. */
  readonly lost: number
}

type Counting = 'client' | 'decision' | 'decidedBy' | 'policy' | 'edgeId' | 'routeId' | 'country' | 'asn'

export interface StatsOptions
  extends Partial<Pick<Stats, 'by' | 'interval'>>,
    Pick<DecisionsOptions, Counting | 'recordId' | 'ruleId'> {
  /** An expression: only decisions for which it is true are counted. */
  readonly filter?: string
  /** The range, extended to whole intervals: times (RFC 3339), or lengths of time before now, such as `24h`. */
  readonly since?: string
  readonly until?: string
  /** The decisions that `allow`, `block` and `deny` count: those about records by default. */
  readonly source?: string
  /** The times that are counted by: when records were `stored`, or their `own` times. */
  readonly time?: RowTime
  /** The number of values of `by` to list: 1 to 20, by edge to 100, by country to 250. */
  readonly values?: number
}

export interface DeliveryStatsOptions extends Pick<StatsOptions, 'interval' | 'since' | 'until' | 'values'> {
  /** Only this one, which may be deleted. */
  readonly destinationId?: string
}

/** Policies and filters whose expressions had no result. */
export interface ExpressionFailuresOptions {
  /** A time (RFC 3339), or a length of time before now, such as `24h`. */
  readonly since?: string
  /** Only policies of this edge and of its routes; several are separated by commas, up to 100. */
  readonly edgeId?: string
  /** Only filters of this subscription. */
  readonly subscriptionId?: string
  /** Entries in the answer: 1 to 100. */
  readonly limit?: number
}

/** A record by its id, or by the id of an event that it made. */
export const tracedRecord = async (http: Http, id: string): Promise<TracedRecord> =>
  /^ev_[0-9a-f]{48}$/.test(id)
    ? http.send('GET', '/records', { query: { event_id: id } })
    : http.send('GET', `/records/${encodeURIComponent(id)}`)

export async function* linesOf<Line>(
  http: Pick<Http, 'events'>,
  watched:
    | { readonly edge?: string | undefined }
    | { readonly destination: string }
    | { readonly dead: 'true' },
  { filter, where, signal, rate }: WatchOptions,
  path = '/live',
): AsyncGenerator<Line, void> {
  for await (const { event, data } of http.events(path, { filter, where, ...watched }, signal)) {
    if (event === 'rate') rate?.(JSON.parse(data))
    else yield JSON.parse(data)
  }
}
