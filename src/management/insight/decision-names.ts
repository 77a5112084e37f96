/** The names that filters of decisions may use, as the field reference lists them. */

import { missingNote } from '../../delivery/record/geo-entry.js'
import { policyNames } from '../../delivery/record/policy-names.js'
import { shapeOf, type TSchema } from '../../ground/core/schema.js'
import { trafficEvents } from '../../words/event/catalog.js'
import { type DecisionName, loggedDecisionSchema } from '../../words/shape/decisions/logged-decision.js'
import { filterNames } from './decision-filter.js'

/** Members that come from what a GeoIP database says, by its names. */
const sources: Readonly<Record<string, string>> = { asn: 'conn.asn', country: 'conn.geo.country_code' }

const types: Readonly<Record<string, DecisionName['type']>> = { string: 'text', number: 'number' }

/** `missing`: names that never have a value in this deployment. Objects are left out: their members are names. */
export const decisionNames = (missing: ReadonlySet<string>): DecisionName[] =>
  Object.entries(filterNames).flatMap(([name, { type: given }]) => {
    const type = types[given]
    if (type === undefined) return []
    const { description, values } = memberAt(name)
    return {
      name,
      type,
      about: description ?? eventTexts.get(name) ?? '',
      ...(values && { values }),
      ...(missing.has(sources[name] ?? name) && { missing: missingNote }),
    }
  })

/** Texts about names, of events or of expressions of policies, which say the same. */
const eventTexts: ReadonlyMap<string, string> = new Map([
  ...trafficEvents.flatMap(({ fields }) => [...fields].map(([name, { about }]) => [name, about] as const)),
  ...policyNames.map(({ name, about }) => [name, about] as const),
])

interface Member {
  readonly description?: string
  readonly values?: readonly string[]
}

/** The schema of a member by its dotted name; none for other names. */
function memberAt(name: string): Member {
  let schema: TSchema | undefined = loggedDecisionSchema
  for (const part of name.split('.')) schema = schema && shapeOf(schema).properties?.[part]
  if (schema === undefined) return {}
  const { description } = schema as { readonly description?: string }
  const values = shapeOf(schema).enum?.filter((value) => typeof value === 'string')
  return { ...(description !== undefined && { description }), ...(values && { values }) }
}
