/**
 * The readings of a request: of its target, and of names of which it has several values. A request is refused if one of them
 * is. Most requests have one reading, which is found out by a look at what the policies of the edge name.
 */

import type { AddressLists, PolicyContext } from '../../delivery/record/policy-context.js'
import type { RequestRecord } from '../../delivery/record/traffic-record.js'
import {
  type Choice,
  type Choices,
  choicesIn,
  type SeveralName,
} from '../../delivery/record/value-choices.js'
import { asSent, inSmallLetters, type Reading } from '../../ground/core/text/target-readings.js'
import { exprStepsMax, StepBudget } from '../../ground/expr/run.js'
import type { Endpoint, HttpsEdge } from './edges.js'
import type { Restrictions } from './ip-restriction.js'
import type { TrafficPolicy } from './traffic-policy.js'

/** The parts of the configuration that a decision reads, apart from the endpoint. */
export interface Decisive extends Restrictions {
  /** The IP lists of an account; undefined if it has none. */
  listsOf(accountId: string | undefined): AddressLists | undefined
  /** Undefined for endpoints of other records than requests. */
  httpsEdgeOf(endpoint: Endpoint): HttpsEdge | undefined
  /** Where a request is in this reading of its path. */
  endpointAt(endpoint: Endpoint, record: RequestRecord, reading: PathReading): Endpoint
}

export interface PathReading extends Reading {
  /** In one of small letters: the same path as it is written. Both are of the same length. */
  readonly written?: string
}

/** Readings of a request that are judged at most, of all paths and values. */
const readingsMax = 512
/** Steps of expressions for all of them: as many as ten records may have. Usual policies take a few hundred for each. */
const stepsMax = 10 * exprStepsMax

/** A reading of a request, and where it is in it. */
interface RequestReading {
  readonly at: Endpoint
  readonly within: PolicyContext
  /** Undefined for the path that the record shows. */
  readonly target: PathReading | undefined
  readonly values: readonly Choice[]
  /** Each reading has the steps of a record, so that none can use up those of another. */
  readonly budget: StepBudget
}

interface RequestReadings {
  /** The one that the record shows comes first. */
  readonly judged: Iterable<RequestReading>
  /** Once all were judged: where there were more. */
  tooManyValuesAt(): Endpoint | undefined
}

const nothing: readonly never[] = []

/** Has the record one reading only? */
export const isReadAlike = (policySet: Decisive, endpoint: Endpoint, context: PolicyContext): boolean =>
  pathsOf(policySet, endpoint, context) === undefined && valueChoices(endpoint, context).length === 0

export function readingsOfRequest(
  policySet: Decisive,
  endpoint: Endpoint,
  context: PolicyContext,
): RequestReadings {
  let tooManyAt: Endpoint | undefined
  function* judged(): Generator<RequestReading> {
    let left = readingsMax
    let steps = 0
    for (const { at, within, target } of targetsOf(policySet, endpoint, context)) {
      yield { at, within, target, values: nothing, budget: new StepBudget() }
      const choices = valueChoices(at, context)
      if (choices.some(({ tooMany }) => tooMany)) tooManyAt = at
      for (const values of combinations(choices)) {
        left -= 1
        if (left < 0 || steps >= stepsMax) {
          tooManyAt = at
          return
        }
        const chosen = new Map(values.map(({ slot, choice }) => [slot, choice]))
        const budget = new StepBudget()
        const taken = values.map(({ choice }) => choice)
        yield { at, within: within.withValues(chosen), target, values: taken, budget }
        steps += budget.spent
      }
    }
  }
  return { judged: judged(), tooManyValuesAt: () => tooManyAt }
}

// --- paths ---

type Target = Omit<RequestReading, 'values' | 'budget'>

function* targetsOf(policySet: Decisive, endpoint: Endpoint, context: PolicyContext): Generator<Target> {
  yield { at: endpoint, within: context, target: undefined }
  for (const target of pathsOf(policySet, endpoint, context) ?? nothing) {
    if (target.path === context.path) continue
    const at = policySet.endpointAt(endpoint, context.request, target)
    yield { at, within: context.withPath(target), target }
  }
}

/**
 * Further paths that are judged next to the one that the record shows; undefined for most records. Some servers ignore the
 * case of letters: a path with capital ones is also judged in small letters, except by routes and expressions that have
 * capital ones themselves.
 */
function pathsOf(
  policySet: Decisive,
  endpoint: Endpoint,
  context: PolicyContext,
): readonly PathReading[] | undefined {
  const { readings, path } = context
  if (readings === undefined && !(path && path !== inSmallLetters(path))) return undefined
  if (!ignoresCase(policySet, endpoint)) return readings?.all
  const all: readonly Reading[] = readings?.all ?? [{ path: path!, how: asSent }]
  const small = all.map(({ path, how }) => ({
    path: inSmallLetters(path),
    how: `${how}, in small letters`,
    written: path,
  }))
  return [...all, ...small.filter(({ path, written }) => path !== written)]
}

/** Does a path in small letters lead elsewhere, or can it be denied? */
const ignoresCase = (policySet: Decisive, endpoint: Endpoint): boolean =>
  endpoint.policies?.ignoreCase === true || policySet.httpsEdgeOf(endpoint)?.hasRoutes === true

/** Where a request is in any reading of its target; other records are where they are. */
export const endpointsOf = (policySet: Decisive, endpoint: Endpoint, context: PolicyContext): Endpoint[] => [
  endpoint,
  ...(pathsOf(policySet, endpoint, context) ?? []).map((reading) =>
    policySet.endpointAt(endpoint, context.request, reading),
  ),
]

// --- values ---

const noNames: readonly SeveralName<PolicyContext>[] = []

/** Other values than those that the record shows, of names that decide at the endpoint. */
export function valueChoices({ policies, route }: Endpoint, context: PolicyContext): readonly Choices[] {
  const ofEdge = policies?.severalNames ?? noNames
  const ofRoute = route?.policies?.severalNames ?? noNames
  if (ofRoute.length === 0) return ofEdge.length === 0 ? nothing : choicesIn(ofEdge, context)
  return choicesIn(ofEdge.length === 0 ? ofRoute : [...ofEdge, ...ofRoute], context)
}

/** Each combination of values but the one that the record shows: those that differ from it in fewer names come first. */
function* combinations(all: readonly Choices[]): Generator<{ slot: string; choice: Choice }[]> {
  for (let count = 1; count <= all.length; count += 1) yield* withOthers(all, count)
}

/** Those in which so many names have another value. */
function* withOthers(all: readonly Choices[], count: number): Generator<{ slot: string; choice: Choice }[]> {
  if (count === 0) yield []
  if (count === 0 || all.length < count) return
  const [first, ...rest] = all
  for (const choice of first!.others)
    for (const more of withOthers(rest, count - 1)) yield [{ slot: first!.slot, choice }, ...more]
  yield* withOthers(rest, count)
}

// --- requests that are refused for their readings ---

/** The part that refuses a request for its readings themselves, as if it were a policy of the edge. */
export function policyOfReadings(
  policySet: Decisive,
  endpoint: Endpoint,
  { readings }: PolicyContext,
  tooManyValuesAt: Endpoint | undefined,
): TrafficPolicy | undefined {
  const edge = policySet.httpsEdgeOf(endpoint)
  if (edge?.refusesAmbiguous && readings?.isAmbiguous) return readingPolicy(endpoint, ambiguousTarget)
  const readsTarget = edge?.hasRoutes || endpoint.policies !== undefined || endpoint.route !== undefined
  if (readings?.tooMany && readsTarget) return readingPolicy(endpoint, tooManyReadings)
  return tooManyValuesAt && readingPolicy(tooManyValuesAt, tooManyValues)
}

/** The name under which an edge refuses what servers read differently (`ambiguous_targets`). */
export const ambiguousTarget = 'ambiguous target'
/** The name under which a target is refused that has more readings than are judged. */
const tooManyReadings = 'too many readings of the target'
/** The name under which a request is refused that has more values than are judged. */
export const tooManyValues = 'too many values'

const readingPolicy = ({ edgeId = '' }: Endpoint, label: string): TrafficPolicy => ({
  ownerId: edgeId,
  direction: 'inbound',
  label,
  distinctLabel: label,
  enforced: true,
  expressions: [],
  actions: readingActions,
})

const readingActions: TrafficPolicy['actions'] = [{ type: 'deny' }]

/** Is it one of those, and no policy of the same name? */
export const isReadingPolicy = ({ actions }: TrafficPolicy): boolean => actions === readingActions
