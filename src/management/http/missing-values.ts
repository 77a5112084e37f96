/**
 * Warnings about expressions and fields that are saved but can never apply, because their names have no value in this
 * deployment. They are valid, and a database may be added later, so they are not refused.
 */
import type { FastifyReply } from 'fastify'
import type { GeoDatabases } from '../../delivery/record/geo.js'
import { missingNames, missingNote } from '../../delivery/record/geo-entry.js'
import { namesIn } from '../../ground/expr/expression.js'
import type { AnyTrafficEvent } from '../../words/event/define.js'
import { eventSubscription } from '../../words/resource/event-subscription.js'
import { type PolicyKind, policyScopesOf } from '../../words/resource/fields/traffic-policy-check.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import type { Put } from '../store/change/change.js'

/** The answer's header: a sentence for each name. */
export const warningHeader = 'Weir-Warning'

/** The place of a name in a resource. */
export interface Use {
  readonly place: string
  readonly name: string
}

export class MissingValues {
  /** Names that never have a value. */
  readonly names: ReadonlySet<string>
  readonly #eventKinds: readonly AnyTrafficEvent[]

  constructor({ members }: Pick<GeoDatabases, 'members'>, eventKinds: readonly AnyTrafficEvent[]) {
    this.names = missingNames(members)
    this.#eventKinds = eventKinds
  }

  /** For the rows that a write stores; the first place of each name. */
  warnings(puts: readonly Put[]): string[] {
    if (this.names.size === 0) return []
    const places = new Map<string, string>()
    for (const { place, name } of puts.flatMap(({ kind, row }) => this.#uses(kind, row)))
      if (this.names.has(name) && !places.has(name)) places.set(name, place)
    return [...places].map(([name, place]) => `"${place}" uses ${name}. ${missingNote}`)
  }

  /** For the names that a search for decisions uses: the parameter or filter, and the name. */
  searchWarnings(uses: readonly Use[]): string[] {
    return uses.flatMap(({ place, name }) => {
      const missing = geoMembers[name] ?? name
      return this.names.has(missing) ? [`"${place}" uses ${missing}. ${missingNote}`] : []
    })
  }

  #uses(kind: string, row: Row): Use[] {
    if (kind === eventSubscription.kind) return this.#usesOfSources(row as unknown as Subscription)
    return Object.hasOwn(policyScopesOf, kind)
      ? usesOfPolicies(kind as PolicyKind, row as unknown as Edge)
      : []
  }

  #usesOfSources({ sources }: Subscription): Use[] {
    return sources.flatMap(({ type, fields, filter }, index) => {
      const scope = this.#eventKinds.find(({ name }) => name === type)?.filterScope
      if (scope === undefined) return []
      const place = `sources[${index}]`
      return [
        ...namesIn(filter ?? 'true', scope).map(({ name }) => ({ place: `${place}.filter`, name })),
        ...(fields ?? []).map((name) => ({ place: `${place}.fields`, name })),
      ]
    })
  }
}

/** Members of a logged decision that have another name elsewhere. */
const geoMembers: Readonly<Record<string, string>> = { country: 'conn.geo.country_code', asn: 'conn.asn' }

type Subscription = DeclaredRow<'event_subscription'>
type Edge = DeclaredRow<PolicyKind>

const usesOfPolicies = (kind: PolicyKind, { policies }: Edge): Use[] =>
  (['inbound', 'outbound'] as const).flatMap((side) =>
    (policies?.[side] ?? []).flatMap(({ expressions }, index) =>
      expressions.flatMap((text, position) =>
        namesIn(text, policyScopesOf[kind][side]).map(({ name }) => ({
          place: `policies.${side}[${index}].expressions[${position}]`,
          name,
        })),
      ),
    ),
  )

export const onlyBlocked =
  'The log of this deployment has only decisions that blocked or denied (WEIR_DECISION_LOG is "blocked"): those that allowed are missing.'

export const onlyFailed =
  'The log of this deployment has only requests that did not deliver (WEIR_DECISION_LOG is "blocked"): those that delivered are missing.'

/** The names that a parameter stands for. */
export const usesIn = (place: string, names: readonly string[]): Use[] =>
  names.map((name) => ({ place, name }))

/**
 * Reports in the header why an answer about logged decisions may be empty or 0 although something happened: names without a
 * value in this deployment, and `others`: sentences about rows that its log does not have.
 */
export function warnOfGaps(
  reply: FastifyReply,
  { missingValues }: { readonly missingValues: MissingValues },
  uses: readonly Use[],
  others: readonly string[] = [],
): void {
  const warnings = [...missingValues.searchWarnings(uses), ...others]
  if (warnings.length > 0) reply.header(warningHeader, warnings.join(' '))
}
