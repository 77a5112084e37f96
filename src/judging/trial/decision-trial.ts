/** Compares decisions: each record of the account is judged by the configuration in force and by the drafted one. */

import type { GeoLookup } from '../../delivery/record/geo.js'
import type { Geo } from '../../delivery/record/geo-entry.js'
import { PolicyContext } from '../../delivery/record/policy-context.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { isoMillis } from '../../ground/core/clock.js'
import { TopCounts } from '../../ground/core/top-counts.js'
import { StepBudget } from '../../ground/expr/run.js'
import type { Decision } from '../../words/event/define.js'
import type { TrialDecisions, TrialExample } from '../../words/shape/trial.js'
import type { Endpoint } from '../evaluate/edges.js'
import { evaluate, type Verdict } from '../evaluate/evaluate.js'
import { ExplanationTrace } from '../evaluate/explain.js'
import { Judgement } from '../evaluate/judgement.js'
import type { PolicySet } from '../evaluate/policy-set.js'
import type { NameCounts } from './name-counts.js'
import { DecisionsOverTime, emptyMatrix, pairsOf } from './over-time.js'
import { type Examiner, type OwnRecord, trialExamplesMax } from './trial.js'

/** Clients, countries and edges that are listed, and how many are counted: rare ones share the places. */
const trialTopListed = 10
const trialTopCounted = 500
/** Pairs of a country or an edge and a change. */
const trialChangesListed = 30
/** Rules listed in the explanation of an example. */
const trialExplainedRulesMax = 20

/** Other effects of one configuration: log actions, warnings and failures. */
class Side {
  readonly policySet: PolicySet
  logActions = 0
  warnings = 0
  failures = 0

  constructor(policySet: PolicySet) {
    this.policySet = policySet
  }

  count({ logs, warnings, failures }: Verdict): void {
    this.logActions += logs.length
    this.warnings += warnings.length
    this.failures += failures.length
  }
}

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

/** The names that the drafted policies of an edge or a route use; none if the draft is of something else. */
export interface NamesOfDraft {
  readonly ownerId: string | undefined
  readonly counts: NameCounts<PolicyContext>
}

export class DecisionTrial implements Examiner {
  readonly #before: Side
  readonly #after: Side
  readonly #geo: GeoLookup
  readonly #budget = new StepBudget()
  readonly #names: NamesOfDraft
  readonly #matrix = emptyMatrix()
  #concerned = 0
  readonly #clients = new Frequent()
  readonly #countries = new Frequent()
  readonly #edges = new Frequent()
  readonly #overTime = new DecisionsOverTime()
  readonly #countryChanges = new FrequentChanges()
  readonly #edgeChanges = new FrequentChanges()
  readonly #examples: TrialExample[] = []
  /** Client, edge and decisions of the examples. */
  readonly #shown = new Set<string>()

  /** `names`: those of the drafted policies. */
  constructor(before: PolicySet, after: PolicySet, geo: GeoLookup, names: NamesOfDraft) {
    this.#before = new Side(before)
    this.#after = new Side(after)
    this.#geo = geo
    this.#names = names
  }

  add({ record, endpoint }: OwnRecord, storedAtMs: number): void {
    const context = new PolicyContext(record, endpoint.edgeId, this.#geo)
    const drafted = this.#draftedEndpoint(record, endpoint)
    const before = this.#judge(this.#before, endpoint, context)
    const after = this.#judge(this.#after, drafted, context)
    this.#before.count(before)
    this.#after.count(after)
    const { ownerId, counts } = this.#names
    if (ownerId !== undefined && (endpoint.edgeId === ownerId || endpoint.route?.id === ownerId)) {
      this.#concerned += 1
      counts.add(context)
    }
    this.#matrix[before.decision][after.decision] += 1
    this.#overTime.add(storedAtMs, before.decision, after.decision)
    if (before.decision === after.decision) return
    this.#clients.add(record.conn.client_ip)
    this.#countries.add(context.geo.country_code)
    this.#edges.add(endpoint.edgeId)
    this.#countryChanges.add(before.decision, after.decision, context.geo.country_code)
    this.#edgeChanges.add(before.decision, after.decision, endpoint.edgeId)
    const key = [record.conn.client_ip, endpoint.edgeId, before.decision, after.decision].join(' ')
    if (this.#shown.size >= trialExamplesMax || this.#shown.has(key)) return
    this.#shown.add(key)
    this.#examples.push({
      ...placeOf(record, endpoint, context.geo),
      at: isoMillis(storedAtMs),
      before: this.#explained(this.#before, record, endpoint),
      after: this.#explained(this.#after, record, drafted),
    })
  }

  /** A draft never changes which edge serves a record. */
  #draftedEndpoint(record: TrafficRecord, endpoint: Endpoint): Endpoint {
    const found = this.#after.policySet.findEdge(record)
    return found.ok ? found.value : endpoint
  }

  #judge({ policySet }: Side, endpoint: Endpoint, context: PolicyContext): Verdict {
    this.#budget.reset()
    return evaluate(policySet, endpoint, context, this.#budget, 'closed')
  }

  #explained({ policySet }: Side, record: TrafficRecord, endpoint: Endpoint): TrialExample['before'] {
    const context = new PolicyContext(record, endpoint.edgeId, this.#geo)
    const trace = new ExplanationTrace(policySet, context.client, trialExplainedRulesMax)
    this.#budget.reset()
    const verdict = evaluate(policySet, endpoint, context, this.#budget, 'closed', trace)
    const judgement = new Judgement(record, endpoint, context, verdict, policySet)
    return { decision: verdict.decision, explanation: trace.explanation(judgement) }
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
        concerned: this.#names.ownerId === undefined ? null : this.#concerned,
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
        names: this.#names.counts.listed(),
        examples: this.#examples,
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
