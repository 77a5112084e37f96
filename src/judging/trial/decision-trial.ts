/** Compares decisions: each record of the account is judged by the configuration in force and by the drafted one. */

import type { GeoLookup } from '../../delivery/record/geo.js'
import type { Geo } from '../../delivery/record/geo-entry.js'
import { PolicyContext } from '../../delivery/record/policy-context.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { isoMillis } from '../../ground/core/clock.js'
import { TopCounts } from '../../ground/core/top-counts.js'
import type { Decision } from '../../words/event/define.js'
import type { TrialDecisions, TrialExample } from '../../words/shape/trial.js'
import { type Endpoint, nowhere } from '../evaluate/edges.js'
import type { PolicySet } from '../evaluate/policy-set.js'
import { unservedFor } from '../evaluate/unserved.js'
import { AccessChanges } from './access-changes.js'
import { Examples } from './changed-examples.js'
import type { NamesOfDraft } from './name-counts.js'
import { DecisionsOverTime, emptyMatrix, pairsOf } from './over-time.js'
import { Side } from './side.js'
import type { Examiner, OwnRecord } from './trial.js'

/** Clients, countries and edges that are listed, and how many are counted: rare ones share the places. */
const trialTopListed = 10
const trialTopCounted = 500
/** Pairs of a country or an edge and a change. */
const trialChangesListed = 30
/** The texts of a kind among the changed records; an unknown one is counted, too. */
class Frequent {
  readonly #counts = new TopCounts(trialTopCounted)

  add(text: string | undefined): void {
    this.#counts.add(text ?? '', 1)
  }

  listed(): { value: string | null; records: number }[] {
    return this.#counts
      .top(trialTopListed)
      .map(({ text, count }) => ({ value: text || null, records: count }))
  }
}

/** The same, apart for each pair of a decision before and after. */
class FrequentChanges {
  readonly #counts = new TopCounts(trialTopCounted)

  add(before: Decision, after: Decision, text: string | undefined): void {
    this.#counts.add(`${before} ${after} ${text ?? ''}`, 1)
  }

  listed(): TrialDecisions['country_changes'] {
    return this.#counts.top(trialChangesListed).map(({ text, count }) => {
      const [before, after, value] = text.split(' ')
      return { value: value || null, before: before as Decision, after: after as Decision, records: count }
    })
  }
}

/** What is drafted. */
interface Drafted {
  /** Names that the drafted policies use. */
  readonly names: NamesOfDraft
  /** Of a draft of the whole account, which may change which edge serves a record: the denials that its tests expect. */
  readonly account?: { readonly id: string; readonly expected: ReadonlySet<string> }
}

export class DecisionTrial implements Examiner {
  readonly #before: Side
  readonly #after: Side
  readonly #geo: GeoLookup
  readonly #drafted: Drafted
  readonly #access: AccessChanges | undefined
  readonly #matrix = emptyMatrix()
  #concerned = 0
  readonly #clients = new Frequent()
  readonly #countries = new Frequent()
  readonly #edges = new Frequent()
  readonly #overTime = new DecisionsOverTime()
  readonly #countryChanges = new FrequentChanges()
  readonly #edgeChanges = new FrequentChanges()
  readonly #examples = new Examples()

  constructor(before: PolicySet, after: PolicySet, geo: GeoLookup, drafted: Drafted) {
    const { account } = drafted
    const sideOf = (policySet: PolicySet): Side =>
      new Side(policySet, account !== undefined && unservedFor(policySet, account.id) === 'deny')
    this.#before = sideOf(before)
    this.#after = sideOf(after)
    this.#geo = geo
    this.#drafted = drafted
    this.#access = account && new AccessChanges(account.expected)
  }

  add({ record, endpoint }: OwnRecord, storedAtMs: number): void {
    const context = new PolicyContext(record, endpoint.edgeId, this.#geo)
    const drafted = this.#draftedEndpoint(record, endpoint)
    const within =
      drafted.edgeId === endpoint.edgeId ? context : new PolicyContext(record, drafted.edgeId, this.#geo)
    const before = this.#before.count(endpoint, context)
    const after = this.#after.count(drafted, within)
    if (this.#drafted.names.add(drafted, within)) this.#concerned += 1
    this.#matrix[before.decision][after.decision] += 1
    this.#overTime.add(storedAtMs, before.decision, after.decision)
    if (before.decision === after.decision) return
    const edgeId = endpoint.edgeId ?? drafted.edgeId
    this.#clients.add(record.conn.client_ip)
    this.#countries.add(context.geo.country_code)
    this.#edges.add(edgeId)
    this.#countryChanges.add(before.decision, after.decision, context.geo.country_code)
    this.#edgeChanges.add(before.decision, after.decision, edgeId)
    const change = { record, edgeId, geo: context.geo }
    if (before.decision === 'allow')
      this.#access?.lost({ ...change, refusedBy: this.#after.decidedBy(record, within, after) })
    else if (after.decision === 'allow')
      this.#access?.gained({ ...change, refusedBy: this.#before.decidedBy(record, context, before) })
    this.#examples.add([record.conn.client_ip, edgeId], before.decision, after.decision, () => ({
      ...placeOf(record, endpoint.edgeId === undefined ? drafted : endpoint, context.geo),
      at: isoMillis(storedAtMs),
      before: this.#before.explained(record, endpoint, this.#geo),
      after: this.#after.explained(record, drafted, this.#geo),
    }))
  }

  /** Only a draft of the whole account changes which edge serves a record; then it may be none. */
  #draftedEndpoint(record: TrafficRecord, endpoint: Endpoint): Endpoint {
    const { policySet } = this.#after
    const found = policySet.findEdge(record)
    const { account } = this.#drafted
    if (account === undefined) return found.ok ? found.value : endpoint
    if (found.ok && found.value.accountId === account.id) return found.value
    return policySet.contents.accounts.get(account.id) ?? nowhere
  }

  result(): { decisions: TrialDecisions } {
    const pairs = pairsOf(this.#matrix)
    const sum = (chosen: typeof pairs) => chosen.reduce((total, { records }) => total + records, 0)
    const of = (what: 'logActions' | 'warnings' | 'failures') => ({
      before: this.#before[what],
      after: this.#after[what],
    })
    return {
      decisions: {
        records: sum(pairs),
        concerned: this.#drafted.names.isOfOne ? this.#concerned : null,
        changed: sum(pairs.filter(({ before, after }) => before !== after)),
        matrix: pairs.filter(({ records }) => records > 0),
        clients: this.#clients.listed(),
        countries: this.#countries.listed(),
        edges: this.#edges.listed(),
        country_changes: this.#countryChanges.listed(),
        edge_changes: this.#edgeChanges.listed(),
        over_time: this.#overTime.result(),
        log_actions: of('logActions'),
        warnings: of('warnings'),
        failures: of('failures'),
        names: this.#drafted.names.listed(),
        access: this.#access?.result() ?? null,
        examples: this.#examples.chosen(),
      },
    }
  }
}

function placeOf(
  { record_id, type, conn }: TrafficRecord,
  { edgeId, route }: Endpoint,
  geo: Geo,
): Omit<TrialExample, 'at' | 'before' | 'after'> {
  return {
    record_id,
    type,
    edge_id: edgeId ?? null,
    route_id: route?.id ?? null,
    server_name: conn.server_name ?? null,
    server_port: conn.server_port ?? null,
    client_ip: conn.client_ip,
    country: geo.country_code ?? null,
    asn: geo.asn ?? null,
  }
}
