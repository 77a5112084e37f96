/** Every kind of traffic event, and what a subscription may ask of a source. */
import { type Problem, shown } from '../core/errors.js'
import { nearestNames, supported } from '../core/nearest.js'
import { checkExpression } from '../expr/expression.js'
import { auditKinds } from './audit.js'
import type { TrafficEventKind } from './define.js'
import { auditEventSchemas, type EventSchema, testEventSchema, trafficEventSchema } from './event-schemas.js'
import { httpRequestComplete } from './http-request-complete.js'
import { log } from './log.js'
import { tcpConnectionClosed } from './tcp-connection-closed.js'

/** What is known of a kind without knowing what its events tell of. */
export interface TrafficKind {
  readonly name: string
  readonly fieldNames: readonly string[]
  /** Empty where the kind takes no filter. */
  readonly filterableNames: readonly string[]
  readonly event: EventSchema
  checkFilter(text: string): Problem | undefined
}

export const trafficKinds: readonly TrafficKind[] = [
  listed(httpRequestComplete, 'An HTTP request is complete.'),
  listed(tcpConnectionClosed, 'A TCP connection has closed.'),
  listed(log, 'A log action of a traffic policy was run.'),
]

/** Every kind of event that a destination may be sent. */
export const eventSchemas: readonly EventSchema[] = [
  ...trafficKinds.map(({ event }) => event),
  ...auditEventSchemas,
  testEventSchema,
]

/** What a source of a subscription may name. */
export const subscribableKinds: readonly string[] = [...trafficKinds.map(({ name }) => name), ...auditKinds]

/** The fields of all traffic kinds. */
export const eventFieldNames: readonly string[] = [
  ...new Set(trafficKinds.flatMap(({ fieldNames }) => fieldNames)),
].sort()

const byName = new Map(trafficKinds.map((kind) => [kind.name, kind]))

export const trafficKindOf = (name: string): TrafficKind | undefined => byName.get(name)

function listed<R>(kind: TrafficEventKind<R>, about: string): TrafficKind {
  const { name, fields, filterScope } = kind
  return {
    name,
    fieldNames: [...fields.keys()],
    filterableNames: [...fields].filter(([, field]) => field.filterable).map(([field]) => field),
    event: trafficEventSchema(kind, about),
    checkFilter: (text) =>
      filterScope === undefined ? { msg: `${name} takes no filter.` } : checkExpression(text, filterScope),
  }
}

/** A source as a subscription names it. */
export interface SourceChoice {
  readonly type: string
  readonly fields?: readonly string[] | null | undefined
  readonly filter?: string | null | undefined
}

/** What is wrong with which member of a source. */
export interface SourceProblem extends Problem {
  readonly member: keyof SourceChoice
}

/** The first problem of a source; `auditKinds` are the names of the audit kinds. */
export function checkSource(source: SourceChoice, auditKinds: readonly string[]): SourceProblem | undefined {
  const { type, fields, filter } = source
  const kind = byName.get(type)
  if (kind === undefined && !auditKinds.includes(type)) return about('type', unknownType(type, auditKinds))
  if (kind !== undefined)
    return about('fields', checkFields(kind, fields)) ?? about('filter', checkFilter(kind, filter))
  if (isGiven(fields)) return about('fields', { msg: `${type} is an audit kind, which takes no fields.` })
  if (isGiven(filter)) return about('filter', { msg: `${type} is an audit kind, which takes no filter.` })
  return undefined
}

const about = (member: keyof SourceChoice, problem: Problem | undefined): SourceProblem | undefined =>
  problem === undefined ? undefined : { ...problem, member }

/** An empty filter is no filter, as everywhere an empty text clears a field. */
const isGiven = <T>(choice: T): choice is NonNullable<T> =>
  choice !== undefined && choice !== null && choice !== ''

function unknownType(type: string, auditKinds: readonly string[]): Problem {
  const near = nearestNames(type, [...byName.keys(), ...auditKinds])
  const objects = new Set(auditKinds.map((kind) => kind.replace(/_[a-z]+\.v\d+$/, '')))
  const known = `supported are ${[...byName.keys()].join(', ')}, and <object>_created.v0, <object>_updated.v0 and <object>_deleted.v0 of ${[...objects].join(', ')}`
  return { msg: `There is no event source ${shown(type)}; ${didYouMean(near) ?? `${known}.`}` }
}

const didYouMean = (near: readonly string[]): string | undefined =>
  near.length === 0 ? undefined : `did you mean ${near.join(' or ')}?`

function checkFields(kind: TrafficKind, fields: SourceChoice['fields']): Problem | undefined {
  if (!isGiven(fields)) return undefined
  if (fields.length === 0) {
    return { msg: `The fields of ${kind.name} are an empty list; leave them out to get all of them.` }
  }
  const unknown = fields.find((field) => !kind.fieldNames.includes(field))
  if (unknown === undefined) return undefined
  const owners = trafficKinds.filter(({ fieldNames }) => fieldNames.includes(unknown)).map(({ name }) => name)
  const said = `${kind.name} has no field ${shown(unknown)}`
  if (owners.length > 0)
    return { msg: `${said}; ${owners.join(' and ')} ${owners.length === 1 ? 'has' : 'have'} it.` }
  const near = didYouMean(nearestNames(unknown, kind.fieldNames))
  return { msg: `${said}; ${near ?? `${supported(kind.fieldNames)}.`}` }
}

function checkFilter(kind: TrafficKind, filter: SourceChoice['filter']): Problem | undefined {
  return isGiven(filter) ? kind.checkFilter(filter) : undefined
}
