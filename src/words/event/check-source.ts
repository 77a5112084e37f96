/** Checks a source of a subscription: its kind, its fields, its filter. */
import { type Problem, shown } from '../../ground/core/errors.js'
import { nearestNames, supported } from '../../ground/core/nearest.js'
import { listed } from '../../ground/core/text/plural.js'
import { checkExpression } from '../../ground/expr/expression.js'
import type { MarkedProblem } from '../../ground/expr/problem.js'
import { auditKinds, auditObjects } from './audit.js'
import { trafficEvents } from './catalog.js'
import type { AnyTrafficEvent } from './define.js'
import { operatorKinds } from './operator-event.js'

/** Kinds that are not made from records: always whole, and without a filter. */
export const wholeKinds: readonly string[] = [...auditKinds, ...operatorKinds]

/** Every kind that a source may name. */
export const subscribableKinds = (kinds: readonly AnyTrafficEvent[] = trafficEvents): readonly string[] => [
  ...kinds.map(({ name }) => name),
  ...wholeKinds,
]

/** The fields of all traffic kinds. */
export const eventFieldNames = (kinds: readonly AnyTrafficEvent[] = trafficEvents): readonly string[] =>
  [...new Set(kinds.flatMap(({ fields }) => [...fields.keys()]))].sort()

/** A source as a subscription names it. */
interface SourceChoice {
  readonly type: string
  readonly fields?: readonly string[] | null | undefined
  readonly filter?: string | null | undefined
}

/** A problem and the member of the source that has it: `filter`, `fields[2]`. */
interface SourceProblem extends Problem {
  readonly member: string
  /** The characters of an expression that are wrong. */
  readonly mark?: MarkedProblem['mark']
}

/** The first problem of a source. */
export const checkSource = (...args: Parameters<typeof sourceProblems>): SourceProblem | undefined =>
  sourceProblems(...args)[0]

/** All problems of a source. */
export function sourceProblems(
  source: SourceChoice,
  kinds: readonly AnyTrafficEvent[] = trafficEvents,
): SourceProblem[] {
  const { type, fields, filter } = source
  const kind = kinds.find(({ name }) => name === type)
  if (kind !== undefined)
    return [...fieldProblems(kind, fields, kinds), ...about('filter', checkFilter(kind, filter))]
  if (!wholeKinds.includes(type)) return about('type', unknownType(type, kinds))
  const sort = auditKinds.includes(type) ? 'audit' : 'operator'
  return [
    ...about('fields', isGiven(fields) ? noneTaken(type, sort, 'fields') : undefined),
    ...about('filter', isGiven(filter) ? noneTaken(type, sort, 'filter') : undefined),
  ]
}

const noneTaken = (type: string, sort: string, what: string): Problem => ({
  msg: `${type} is an ${sort} kind, which takes no ${what}.`,
})

const about = (member: string, problem: Problem | undefined): SourceProblem[] =>
  problem === undefined ? [] : [{ ...problem, member }]

/** An empty filter is no filter: an empty text clears a field everywhere. */
const isGiven = <T>(choice: T): choice is NonNullable<T> =>
  choice !== undefined && choice !== null && choice !== ''

function unknownType(type: string, kinds: readonly AnyTrafficEvent[]): Problem {
  const names = kinds.map(({ name }) => name)
  const near = nearestNames(type, [...names, ...wholeKinds])
  const known = `supported are ${[...names, ...operatorKinds].join(', ')}, and <object>_created.v0, <object>_updated.v0 and <object>_deleted.v0 of ${auditObjects.join(', ')}`
  return { msg: `There is no event source ${shown(type)}; ${didYouMean(near) ?? `${known}.`}` }
}

const didYouMean = (near: readonly string[]): string | undefined =>
  near.length === 0 ? undefined : `did you mean ${near.join(' or ')}?`

function fieldProblems(
  kind: AnyTrafficEvent,
  selected: SourceChoice['fields'],
  kinds: readonly AnyTrafficEvent[],
): SourceProblem[] {
  if (!isGiven(selected)) return []
  if (selected.length === 0)
    return about('fields', {
      msg: `The fields of ${kind.name} are an empty list; leave them out to get the default ones.`,
    })
  return selected.flatMap((field, index) =>
    kind.fields.has(field) ? [] : about(`fields[${index}]`, unknownField(kind, field, kinds)),
  )
}

function unknownField(
  { name, fields }: AnyTrafficEvent,
  unknown: string,
  kinds: readonly AnyTrafficEvent[],
): Problem {
  const owners = kinds.filter((other) => other.fields.has(unknown)).map((other) => other.name)
  const refusal = `${name} has no field ${shown(unknown)}`
  if (owners.length > 0)
    return { msg: `${refusal}; ${listed(owners, 'and')} ${owners.length === 1 ? 'has' : 'have'} it.` }
  const near = didYouMean(nearestNames(unknown, [...fields.keys()]))
  return { msg: `${refusal}; ${near ?? `${supported([...fields.keys()])}.`}` }
}

function checkFilter(
  { filterScope }: AnyTrafficEvent,
  filter: SourceChoice['filter'],
): MarkedProblem | undefined {
  if (!isGiven(filter)) return undefined
  return checkExpression(filter, filterScope)
}
