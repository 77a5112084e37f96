/** Compiles a draft, and what it is compared with. */
import { yieldTurn } from '../core/clock.js'
import type { ConfigurationSource } from '../evaluate/configuration.js'
import { buildPolicySet, type PolicySet } from '../evaluate/policy-set.js'
import type { AnyTrafficEvent } from '../event/define.js'
import { buildSubscriptionSet } from '../produce/subscriptions.js'
import type { GeoLookup } from '../record/geo.js'
import { eventSubscription } from '../resource/event-subscription.js'
import type { DeclaredRow } from '../resource/registry.js'
import { AccountConfiguration, type Draft, DraftedConfiguration } from './configuration.js'
import { DecisionTrial } from './decision-trial.js'
import { EventTrial } from './event-trial.js'
import type { Examiner } from './trial.js'

interface ExaminerOptions {
  readonly accountId: string
  readonly draft: Draft
  /** The configuration in force. */
  readonly source: ConfigurationSource
  readonly geo: GeoLookup
  readonly eventKinds: readonly AnyTrafficEvent[]
}

interface OpenedExaminer {
  /** In force. */
  readonly policySet: PolicySet
  readonly examiner: Examiner
}

export async function openExaminer(options: ExaminerOptions): Promise<OpenedExaminer> {
  const { accountId, draft, geo } = options
  const source = new AccountConfiguration(options.source, accountId)
  const policySet = await buildPolicySet(source, undefined, yieldTurn)
  const subscription = draft.rows.find(({ kind }) => kind === eventSubscription.kind)?.row
  if (subscription !== undefined) {
    const row = subscription as unknown as DeclaredRow<'event_subscription'>
    return { policySet, examiner: await eventTrial(options, row, policySet) }
  }
  const drafted = await buildPolicySet(new DraftedConfiguration(source, draft), policySet, yieldTurn)
  return { policySet, examiner: new DecisionTrial(policySet, drafted, geo) }
}

async function eventTrial(
  { accountId, draft, geo, eventKinds }: ExaminerOptions,
  row: DeclaredRow<'event_subscription'>,
  policySet: PolicySet,
): Promise<EventTrial> {
  const alone = new DraftedConfiguration(nothing, draft)
  const { byAccount } = await buildSubscriptionSet(alone, undefined, yieldTurn, eventKinds)
  const types = row.sources.map(({ type }) => type)
  const isTraffic = (type: string): boolean => eventKinds.some(({ name }) => name === type)
  const tried = types.filter(isTraffic)
  const notTried = types.filter((type) => !isTraffic(type))
  return new EventTrial(policySet, { sources: byAccount.get(accountId), tried, notTried }, geo)
}

const nothing: ConfigurationSource = { revision: 0, rowsOf: () => [], rules: () => undefined }
