/** Which kinds of events a replay sends: those that were chosen, and that the filter is about. */
import { badRequest, shown, WeirError } from '../core/errors.js'
import { listed } from '../core/text/plural.js'
import { trafficEvents } from '../event/catalog.js'
import { checkSource, wholeKinds } from '../event/check-source.js'

interface ReplayedTypes {
  /** Null: all that the destination gets, also those that it gets later. */
  readonly types: readonly string[] | null
  readonly types_left_out: readonly string[]
}

interface TypesAndFilter {
  readonly types: readonly string[] | null
  readonly filter: string | null
}

/** `received`: the kinds that subscriptions send to the destination. Only what records cause is replayed. */
export function replayedTypes(received: readonly string[], { types, filter }: TypesAndFilter): ReplayedTypes {
  const possible = [...new Set(received)].filter((type) => !wholeKinds.includes(type)).sort()
  for (const type of types ?? []) checkType(type, possible)
  const chosen = types && [...new Set(types)]
  if (filter === null) return { types: chosen, types_left_out: [] }
  return { types: chosen, types_left_out: leftOutBy(filter, chosen ?? possible) }
}

function checkType(type: string, possible: readonly string[]): void {
  const problem = checkSource({ type })
  if (problem !== undefined) throw badRequest(`"types": ${problem.msg}`)
  if (wholeKinds.includes(type))
    throw badRequest(
      `"types" has ${shown(type)}, which no record causes: only events of records are sent again.`,
    )
  if (possible.includes(type)) return
  const known = possible.length === 0 ? 'no events of records' : listed(possible, 'and')
  throw badRequest(`"types" has ${shown(type)}, but the destination gets ${known} from its subscriptions.`)
}

/** The kinds that lack a name of the filter. Throws if no kind suits it. */
function leftOutBy(filter: string, types: readonly string[]): string[] {
  const asked = types.length === 0 ? trafficEvents.map(({ name }) => name) : types
  const problems = asked.map((type) => checkSource({ type, filter }))
  if (problems.includes(undefined)) return types.filter((_, index) => problems[index] !== undefined)
  throw new WeirError(
    'ERR_INVALID_EXPRESSION',
    `"filter" does not suit ${listed(asked)}: ${problems[0]!.msg}`,
  )
}
