/** The attention that policies and filters need: those whose expressions had no result for records of the last day. */
import { isoMillis } from '../../ground/core/clock.js'
import { shown } from '../../ground/core/errors.js'
import type { Links } from '../../words/resource/kind/define.js'
import type { Attention } from '../../words/shape/overview.js'
import type { ViewState } from '../../words/view/view-state.js'
import { queryText } from '../exchange/query-values.js'
import type { FailedPlace, FailedPlaces } from '../store/logs/failure-reader.js'
import { attention, counted, timeText } from './destination-attention.js'

export const expressionFailuresPath = '/expression_failures'

const hourMs = 60 * 60_000
const idsShown = 20

interface Context {
  readonly state: Pick<ViewState, 'rows'>
  readonly links: Pick<Links, 'uri'>
  readonly nowMs: number
}

/** One finding for policies, one for filters. A deleted edge or subscription needs no hand any more. */
export function failingExpressions({ places }: Pick<FailedPlaces, 'places'>, context: Context): Attention[] {
  const { rows } = context.state
  const exists = (id: string, ...kinds: readonly string[]): boolean =>
    kinds.some((kind) => rows.get(kind)?.has(id))
  const filters = places.filter((each) => exists(each.subscriptionId, 'event_subscription'))
  const policies = places.filter(
    ({ edgeId, routeId }) =>
      exists(edgeId, 'tcp_edge', 'https_edge') && (routeId === '' || exists(routeId, 'https_edge_route')),
  )
  return [
    ...findingOf('policies_failing', policies, ({ edgeId }) => edgeId, context),
    ...findingOf('filters_failing', filters, ({ subscriptionId }) => subscriptionId, context),
  ]
}

const about = {
  policies_failing: { noun: 'traffic policy', plural: 'traffic policies', what: 'policy' },
  filters_failing: { noun: 'filter', plural: 'filters', what: 'filter' },
} as const

function findingOf(
  type: keyof typeof about,
  places: readonly FailedPlace[],
  idOf: (place: FailedPlace) => string,
  { links, nowMs }: Context,
): Attention[] {
  const [worst] = places
  if (worst === undefined) return []
  const { noun, plural, what } = about[type]
  const records = places.reduce((sum, { count }) => sum + count, 0)
  const lastMs = Math.max(...places.map((each) => each.lastMs))
  const latest = isoMillis(lastMs)
  const name = worst.policy === '' ? '' : ` Most were of ${shown(worst.policy)}.`
  const sentence = `Expressions of ${counted(places.length, noun, plural)} had no result for records of the last 24 hours, ${counted(records, 'time')}, the last at ${timeText(latest)}; no such ${what} applied to them.${name}`
  return [
    attention({
      type,
      // It may be mended: that shows only in records that come after.
      severity: nowMs - lastMs < hourMs ? 'attention' : 'notice',
      sentence,
      count: places.length,
      since: isoMillis(Math.min(...places.map((each) => each.firstMs))),
      latest,
      ids: [...new Set(places.map(idOf))].slice(0, idsShown),
      uri: links.uri(`${expressionFailuresPath}?${queryText({ since: '24h' })}`),
    }),
  ]
}
