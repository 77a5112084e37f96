/** Tries a subscription: which events it would have made, how large they are, and what AWS would charge for. */

import type { GeoLookup } from '../../delivery/record/geo.js'
import { PolicyContext } from '../../delivery/record/policy-context.js'
import { EventTime } from '../../delivery/wire/event-template.js'
import type { PackedEvent } from '../../delivery/wire/packed-event.js'
import { StepBudget } from '../../ground/expr/run.js'
import type { Origin } from '../../words/event/define.js'
import type { TrialEvents } from '../../words/shape/trial.js'
import { evaluate } from '../evaluate/evaluate.js'
import { Judgement } from '../evaluate/judgement.js'
import type { PolicySet } from '../evaluate/policy-set.js'
import { produce } from '../produce/produce.js'
import type { AccountSources } from '../produce/source-list.js'
import type { NameCounts } from './name-counts.js'
import { type Examiner, type OwnRecord, trialExamplesMax } from './trial.js'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const kibibyte = 1024
/** As AWS bills: https://aws.amazon.com/kinesis/data-streams/pricing/ */
const kinesisUnitBytes = 25 * kibibyte
/** https://aws.amazon.com/firehose/pricing/ */
const firehoseStepBytes = 5 * kibibyte
/** https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html */
const logEventOverheadBytes = 26

type Tally = Omit<TrialEvents['sources'][number], 'names'>

/** A source of the draft, and the names that its filter uses. */
export interface TriedSource {
  readonly type: string
  readonly madeFrom: Origin
  readonly names: NameCounts<never>
}

/** The sources of a draft by kind; those that no record makes events of are only listed. */
interface TriedSources {
  readonly sources: AccountSources | undefined
  readonly tried: readonly TriedSource[]
  readonly notTried: readonly string[]
}

/** The parts of a record that a source makes events of. */
const subjectsOf = ({ madeFrom }: TriedSource, { record, verdict }: Judgement): readonly unknown[] => {
  if (madeFrom === 'log_action') return verdict.logs
  return madeFrom === record.type ? [record] : []
}

export class EventTrial implements Examiner {
  readonly #policySet: PolicySet
  readonly #geo: GeoLookup
  readonly #of: TriedSources
  readonly #budget = new StepBudget()
  readonly #tallies: ReadonlyMap<string, Tally>
  readonly #billing = { kinesis_payload_units: 0, firehose_bytes: 0, cloudwatch_logs_bytes: 0 }
  readonly #examples: unknown[] = []
  #records = 0

  constructor(policySet: PolicySet, of: TriedSources, geo: GeoLookup) {
    this.#policySet = policySet
    this.#geo = geo
    this.#of = of
    this.#tallies = new Map(
      of.tried.map(({ type }) => [type, { type, events: 0, bytes: 0, filtered: 0, failed: 0 }]),
    )
  }

  add({ record, endpoint }: OwnRecord, storedAtMs: number): void {
    this.#records += 1
    this.#budget.reset()
    const context = new PolicyContext(record, endpoint.edgeId, this.#geo)
    const verdict = evaluate(this.#policySet, endpoint, context, this.#budget, 'closed')
    const judgement = new Judgement(record, endpoint, context, verdict, this.#policySet)
    const { events, filtered, failed } = produce(this.#of.sources, judgement, this.#budget)
    // A source is asked about the subjects of its own kind.
    for (const source of this.#of.tried)
      for (const subject of subjectsOf(source, judgement))
        source.names.add({ subject, decided: judgement } as never)
    const time = EventTime.of(storedAtMs)!
    for (const event of events) this.#count(this.#tallies.get(event.source.kindName)!, event.at(time))
    for (const { kindName } of filtered) this.#tallies.get(kindName)!.filtered += 1
    for (const { source } of failed) this.#tallies.get(source.kindName)!.failed += 1
  }

  #count(tally: Tally, event: PackedEvent): void {
    // Without its line feed.
    const bytes = event.dataBytes - 1
    tally.events += 1
    tally.bytes += bytes
    this.#billing.kinesis_payload_units += Math.ceil(bytes / kinesisUnitBytes)
    this.#billing.firehose_bytes += Math.ceil(bytes / firehoseStepBytes) * firehoseStepBytes
    this.#billing.cloudwatch_logs_bytes += bytes + logEventOverheadBytes
    if (this.#examples.length < trialExamplesMax) this.#examples.push(JSON.parse(event.data.toString()))
  }

  result(readMs: number): { events: TrialEvents } {
    const sources = this.#of.tried.map(({ type, names }) => ({
      ...this.#tallies.get(type)!,
      names: names.listed(),
    }))
    const sum = (what: 'events' | 'bytes') => sources.reduce((total, tally) => total + tally[what], 0)
    // A shorter time says nothing about an hour.
    const perHour = (amount: number) => Math.round((amount * hourMs) / Math.max(readMs, minuteMs))
    const [events, bytes] = [sum('events'), sum('bytes')]
    return {
      events: {
        records: this.#records,
        events,
        bytes,
        per_hour: { events: perHour(events), bytes: perHour(bytes) },
        billing: this.#billing,
        sources,
        sources_not_tried: [...this.#of.notTried],
        examples: this.#examples,
      },
    }
  }
}
