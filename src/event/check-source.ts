/** What a subscription may ask of a source: its kind, its fields, its filter. */
import { type Problem, shown } from '../core/errors.js'
import { nearestNames, supported } from '../core/nearest.js'
import { checkExpression } from '../expr/expression.js'
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

/** A problem and the member of the source that has it. */
interface SourceProblem extends Problem {
  readonly member: keyof SourceChoice
}

/** The first problem of a source. */
export function checkSource(
  source: SourceChoice,
  kinds: readonly AnyTrafficEvent[] = trafficEvents,
): SourceProblem | undefined {
  const { type, fields, filter } = source
  const kind = kinds.find(({ name }) => name === type)
  if (kind !== undefined)
    return about('fields', checkFields(kind, fields, kinds)) ?? about('filter', checkFilter(kind, filter))
  if (!wholeKinds.includes(type)) return about('type', unknownType(type, kinds))
  const sort = auditKinds.includes(type) ? 'audit' : 'operator'
  if (isGiven(fields)) return about('fields', { msg: `${type} is an ${sort} kind, which takes no fields.` })
  if (isGiven(filter)) return about('filter', { msg: `${type} is an ${sort} kind, which takes no filter.` })
  return undefined
}

const about = (member: keyof SourceChoice, problem: Problem | undefined): SourceProblem | undefined =>
  problem === undefined ? undefined : { ...problem, member }

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

function checkFields(
  { name, fields }: AnyTrafficEvent,
  selected: SourceChoice['fields'],
  kinds: readonly AnyTrafficEvent[],
): Problem | undefined {
  if (!isGiven(selected)) return undefined
  if (selected.length === 0) {
    return { msg: `The fields of ${name} are an empty list; leave them out to get the default ones.` }
  }
  const unknown = selected.find((field) => !fields.has(field))
  if (unknown === undefined) return undefined
  const owners = kinds.filter((other) => other.fields.has(unknown)).map((other) => other.name)
  const refusal = `${name} has no field ${shown(unknown)}`
  if (owners.length > 0)
    return { msg: `${refusal}; ${owners.join(' and ')} ${owners.length === 1 ? 'has' : 'have'} it.` }
  const near = didYouMean(nearestNames(unknown, [...fields.keys()]))
  return { msg: `${refusal}; ${near ?? `${supported([...fields.keys()])}.`}` }
}

function checkFilter({ filterScope }: AnyTrafficEvent, filter: SourceChoice['filter']): Problem | undefined {
  if (!isGiven(filter)) return undefined
  return checkExpression(filter, filterScope)
}
