/** The configuration of a replay: the sources whose events go to one destination, and no others. */
import type { AnyTrafficEvent } from '../event/define.js'
import { compileExpression } from '../expr/expression.js'
import type { AccountSources, EventSource } from './subscriptions.js'
import type { TrafficView } from './traffic-view.js'

interface ReplayedEvents {
  readonly accountId: string
  readonly destinationId: string
  /** An expression over fields of events; null: all events. */
  readonly filter: string | null
}

export function replayedView(
  view: TrafficView,
  { accountId, destinationId, filter }: ReplayedEvents,
  eventKinds: readonly AnyTrafficEvent[],
): TrafficView {
  const sources = view.subscriptions.byAccount.get(accountId)
  const restrict = (source: EventSource<never>): EventSource<never>[] =>
    source.destinationIds.includes(destinationId)
      ? [{ ...source, destinationIds: [destinationId], filter: alsoFiltered(source, filter, eventKinds) }]
      : []
  const restricted = Object.fromEntries(
    Object.entries(sources ?? {}).map(([origin, list]) => [origin, list.flatMap(restrict)]),
  ) as unknown as AccountSources
  const byAccount = new Map(sources === undefined ? [] : [[accountId, restricted]])
  return { ...view, subscriptions: { ...view.subscriptions, byAccount } }
}

/** What the source's own filter and that of the replay let through. Events of a kind that lacks a name get none. */
function alsoFiltered(
  { kindName, filter: own }: EventSource<never>,
  filter: string | null,
  eventKinds: readonly AnyTrafficEvent[],
): EventSource<never>['filter'] {
  const kind = eventKinds.find(({ name }) => name === kindName)
  if (filter === null || kind === undefined) return own
  const compiled = compileExpression(filter, kind.filterScope)
  if (!compiled.ok) return () => false
  return (input, budget) => (own?.(input, budget) ?? true) && compiled.value.isTrue(input, budget)
}
