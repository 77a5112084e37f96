/** The compiled configuration of traffic: policies that decide about records, and subscriptions that make events of them. */

import { buildPolicySet, type PolicySet } from '../evaluate/policy-set.js'
import type { ConfigurationSource } from '../evaluate/policy-source.js'
import { trafficEvents } from '../event/catalog.js'
import type { AnyTrafficEvent } from '../event/define.js'
import { buildSubscriptionSet, type SubscriptionSet } from './subscriptions.js'

/** Immutable, replaced as a whole. */
export interface TrafficView {
  readonly policySet: PolicySet
  readonly subscriptions: SubscriptionSet
}

/** Builds a view in slices of 5 ms, each followed by `yieldTurn`; reuses what `previous` has compiled. */
export async function buildTrafficView(
  source: ConfigurationSource,
  previous: TrafficView | undefined,
  yieldTurn: () => Promise<void>,
  eventKinds: readonly AnyTrafficEvent[] = trafficEvents,
): Promise<TrafficView> {
  const policySet = await buildPolicySet(source, previous?.policySet, yieldTurn)
  const subscriptions = await buildSubscriptionSet(source, previous?.subscriptions, yieldTurn, eventKinds)
  return { policySet, subscriptions }
}
