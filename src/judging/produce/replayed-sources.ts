/**
 * Restricted configurations: of a replay, the sources whose events go to one destination; of live records, all sources
 * without the destinations that get their events later.
 */

import { compileExpression } from '../../ground/expr/expression.js'
import type { AnyTrafficEvent } from '../../words/event/define.js'
import type { TrafficView } from './compiled-configuration.js'
import { type AccountSources, type EventSource, SourceList } from './source-list.js'

interface ReplayedEvents {
  readonly accountId: string
  readonly destinationId: string
  /** An expression over fields of events; null: all events. */
  readonly filter: string | null
  /** Kinds of events; null: all. */
  readonly types: readonly string[] | null
  /** The only subscription whose events they are; undefined: all of them. */
  readonly subscriptionId?: string | undefined
}

export function replayedView(
  view: TrafficView,
  { accountId, destinationId, filter, types, subscriptionId }: ReplayedEvents,
  eventKinds: readonly AnyTrafficEvent[],
): TrafficView {
  const sources = view.subscriptions.byAccount.get(accountId)
  const restrict: Restriction = (source) =>
    source.destinationIds.includes(destinationId) &&
    (types === null || types.includes(source.kindName)) &&
    source.subscriptionId === (subscriptionId ?? source.subscriptionId)
      ? [{ ...source, destinationIds: [destinationId], filter: alsoFiltered(source, filter, eventKinds) }]
      : []
  const byAccount = new Map(sources === undefined ? [] : [[accountId, restricted(sources, restrict)]])
  return withSources(view, byAccount)
}

/** Does the view know the subscription? */
export const hasSubscription = (
  { subscriptions }: TrafficView,
  accountId: string,
  subscriptionId: string,
): boolean =>
  Object.values(subscriptions.byAccount.get(accountId) ?? {}).some(({ sources }: SourceList<never>) =>
    sources.some((source) => source.subscriptionId === subscriptionId),
  )

interface DestinationOfAccount {
  readonly account_id: string
  readonly destination_id: string
}

/** A source that goes to no other destination is left out. */
export function viewWithout(view: TrafficView, destinations: readonly DestinationOfAccount[]): TrafficView {
  const leftOut = new Set(destinations.map(({ destination_id }) => destination_id))
  const restrict: Restriction = (source) => {
    const destinationIds = source.destinationIds.filter((id) => !leftOut.has(id))
    return destinationIds.length === 0 ? [] : [{ ...source, destinationIds }]
  }
  const byAccount = new Map(view.subscriptions.byAccount)
  for (const accountId of new Set(destinations.map(({ account_id }) => account_id))) {
    const sources = byAccount.get(accountId)
    if (sources !== undefined) byAccount.set(accountId, restricted(sources, restrict))
  }
  return withSources(view, byAccount)
}

type Restriction = (source: EventSource<never>) => EventSource<never>[]

const restricted = (sources: AccountSources, restrict: Restriction): AccountSources =>
  Object.fromEntries(
    Object.entries(sources).map(([origin, list]) => [origin, new SourceList(list.sources.flatMap(restrict))]),
  ) as unknown as AccountSources

const withSources = (view: TrafficView, byAccount: ReadonlyMap<string, AccountSources>): TrafficView => ({
  ...view,
  subscriptions: { ...view.subscriptions, byAccount },
})

/** The source's own filter and that of the replay. A kind that lacks a name of the replay's filter makes no events. */
function alsoFiltered(
  { kindName, filter: own }: EventSource<never>,
  filter: string | null,
  eventKinds: readonly AnyTrafficEvent[],
): EventSource<never>['filter'] {
  const kind = eventKinds.find(({ name }) => name === kindName)
  if (filter === null || kind === undefined) return own
  const compiled = compileExpression(filter, kind.filterScope)
  if (!compiled.ok) return noEvents
  if (own === undefined) return compiled.value
  return {
    isTrue: (input, budget) => own.isTrue(input, budget) && compiled.value.isTrue(input, budget),
    requirement: own.requirement,
  }
}

const noEvents: EventSource<never>['filter'] = { isTrue: () => false, requirement: { kind: 'any', of: [] } }
