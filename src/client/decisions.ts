/** The decisions of the log, newest first. */
import type { LoggedDecision } from '../resource/logged-decision.js'
import type { Http } from './http.js'

export interface DecisionsOptions {
  /** An expression over the members of a decision. */
  readonly filter?: string
  /** An address, or a range in CIDR notation. */
  readonly client?: string
  /** `allow`, `block` or `deny`; several are separated by commas. */
  readonly decision?: string
  /** `none`, `restriction`, `ip_restriction` or `traffic_policy`; several are separated by commas. */
  readonly decidedBy?: string
  readonly policy?: string
  readonly edgeId?: string
  readonly routeId?: string
  readonly country?: string
  readonly recordId?: string
  /** The deny rule that blocked. */
  readonly ruleId?: string
  /** `record` or `asked`; both by default. */
  readonly source?: string
  /** RFC 3339: decisions at this time or later. */
  readonly since?: string
  /** RFC 3339: decisions before this time. */
  readonly until?: string
  /** Decisions in a page: 1 to 100. */
  readonly limit?: number
}

interface Page {
  readonly decisions: readonly LoggedDecision[]
  readonly next_page_uri: string | null
}

/** Pages are fetched as they are needed. */
export async function* loggedDecisions(
  http: Http,
  { decidedBy, edgeId, routeId, recordId, ruleId, ...options }: DecisionsOptions,
): AsyncGenerator<LoggedDecision, void, undefined> {
  const ids = {
    decided_by: decidedBy,
    edge_id: edgeId,
    route_id: routeId,
    record_id: recordId,
    rule_id: ruleId,
  }
  for (let before_id: string | undefined; ; ) {
    const page = await http.send<Page>('GET', '/decisions', { query: { ...options, ...ids, before_id } })
    yield* page.decisions
    if (page.next_page_uri === null) return
    // The URI may have a base that this client can't reach, so only its position is used.
    before_id = new URL(page.next_page_uri).searchParams.get('before_id') ?? undefined
  }
}
