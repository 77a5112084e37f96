/** Parameters that select logged decisions: those of their list and of their sums mean the same. */

import type { DecisionRow } from '../../../delivery/wire/decision-rows.js'
import { boundsOf, parseCidr } from '../../../ground/core/address/cidr.js'
import { badRequest, shown } from '../../../ground/core/errors.js'
import { logFilterCharsMax, ownTimeAheadMinutes, ownTimeYears } from '../../../ground/core/limits.js'
import { Type } from '../../../ground/core/schema.js'
import { deciderWords, decisionWords, sourceWords } from '../../../words/shape/decisions/logged-decision.js'
import {
  checkEverPresent,
  edgeResources,
  routeResources,
  ruleResources,
  sourceParameter,
  wordIn,
} from '../../exchange/query-values.js'
import type { ApiContext } from '../../http/context.js'
import { type Use, usesIn } from '../../http/missing-values.js'
import type { Selection } from '../../store/logs/log-selection.js'
import { type RowTime, rowTimes } from '../../store/logs/row-times.js'

export type Query = Readonly<Record<string, string | undefined>>

interface ValueParameter {
  readonly column: string
  /** The words that are allowed; several may be given. */
  readonly words?: readonly string[]
  /** Several values may be given, at most so many. */
  readonly most?: number
  /** Reads a value that is no text. */
  readonly read?: (text: string) => number
}

/** Edges in one request: as many as a list shows at once. */
export const edgesMax = 100

/** Parameters that name values of a column. */
const valueParameters: Readonly<Record<string, ValueParameter>> = {
  decision: { column: 'decision', words: decisionWords },
  decided_by: { column: 'decided_by', words: deciderWords },
  policy: { column: 'policy' },
  edge_id: { column: 'edge_id', most: edgesMax },
  route_id: { column: 'route_id' },
  country: { column: 'country' },
  asn: { column: 'asn', read: asnOf },
  record_id: { column: 'record_id' },
  rule_id: { column: 'rule_id' },
  source: { column: 'source', words: sourceWords },
}

export const selectingParameters: readonly string[] = ['client', ...Object.keys(valueParameters)]

/** By which times a request searches or counts. */
export const timeParameter = Type.Optional(
  Type.Enum([...rowTimes], {
    description: `The times that \`since\`, \`until\` and the order go by. \`stored\`: when records were stored, or questions answered. \`own\`: when connections and requests began, as records say, up to ${ownTimeYears} years before they were stored and ${ownTimeAheadMinutes} minutes after; others count at the time when they were stored. Default: \`stored\`, with \`source=history\` \`own\`.`,
  }),
)

/** Loaded records of the past are looked for at their own times unless the request says otherwise. */
export function rowTimeIn({ time, source }: Query): RowTime {
  if (time !== undefined) return wordIn('time', time, rowTimes)
  return source === 'history' ? 'own' : 'stored'
}

/**
 * The sources that sums are of: with records of now, those of the past by their own times, because only these are in their
 * place.
 */
export function countedSources(query: Query): readonly DecisionRow['source'][] {
  const given = textsIn('source', query['source'])
  if (given !== undefined) return given as DecisionRow['source'][]
  return rowTimeIn(query) === 'own' ? ['record', 'history'] : ['record']
}

const words = (description: string) => Type.Optional(Type.String({ description }))

export const selectingSchema = {
  client: words('The address of the client, or a range in CIDR notation.'),
  decision: words('`allow`, `block` or `deny`; several are separated by commas.'),
  decided_by: words(
    '`none`, `restriction`, `ip_restriction`, `traffic_policy` or `unserved`; several with commas.',
  ),
  policy: words('The traffic policy that denied.'),
  edge_id: words(`The edge; up to ${edgesMax} are separated by commas.`),
  route_id: words('The route.'),
  country: words('The country of the client: ISO 3166-1 alpha-2.'),
  asn: words('The autonomous system of the client: its number, also as `AS64500`.'),
  record_id: words('The record.'),
  rule_id: words('The deny rule of an IP policy that blocked.'),
  source: sourceParameter,
}

/** Parameters that name resources, which may have been deleted since. */
const idParameters = { edge_id: edgeResources, route_id: routeResources, rule_id: ruleResources }

export async function checkSelectedIds(context: ApiContext, accountId: string, query: Query): Promise<void> {
  for (const [name, resources] of Object.entries(idParameters)) {
    for (const id of textsIn(name, query[name]) ?? [])
      await checkEverPresent(context, accountId, name, id, resources)
  }
}

/** The parameters that need data which a deployment may lack. */
export const selectingUses = (query: Query): Use[] =>
  ['country', 'asn'].flatMap((name) => usesIn(name, query[name] === undefined ? [] : [name]))

export const selectionIn = (query: Query): Selection => ({
  values: valuesIn(query),
  clients: clientsOf(query['client']),
})

function valuesIn(query: Query): Record<string, readonly (string | number)[]> {
  const values: Record<string, readonly (string | number)[]> = {}
  for (const [name, { column, read }] of Object.entries(valueParameters)) {
    const given = textsIn(name, query[name])
    if (given !== undefined) values[column] = read === undefined ? given : given.map(read)
  }
  return values
}

/** The values that a parameter names, each once. */
function textsIn(name: string, text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined
  const { words: allowed, most = 1 } = valueParameters[name]!
  const given = allowed === undefined && most === 1 ? [text] : [...new Set(text.split(','))]
  if (given.some((each) => each === '' || each.length > logFilterCharsMax))
    throw badRequest(
      `The query parameter "${name}" must have 1 to ${logFilterCharsMax} characters${most > 1 ? ' between commas' : ''}.`,
    )
  const unknown = given.find((word) => allowed?.includes(word) === false)
  if (unknown !== undefined)
    throw badRequest(
      `The query parameter "${name}" names ${shown(unknown)}: ${allowed?.join(', ')} are allowed.`,
    )
  if (allowed === undefined && given.length > most)
    throw badRequest(
      `The query parameter "${name}" names ${given.length} values: at most ${most} are allowed.`,
    )
  return given
}

/** The ids of edges that a query names; undefined: it names none. */
export const edgeIdsIn = ({ edge_id }: Query): readonly string[] | undefined => textsIn('edge_id', edge_id)

function asnOf(text: string): number {
  const [, digits] = /^(?:AS)?(\d{1,10})$/i.exec(text) ?? []
  const number = Number(digits)
  if (number >= 1 && number < 2 ** 32) return number
  throw badRequest(
    `The query parameter "asn" is ${shown(text)}: the number of an autonomous system is needed, such as 64500 or AS64500.`,
  )
}

function clientsOf(text: string | undefined): Selection['clients'] {
  if (text === undefined) return undefined
  const cidr = parseCidr(text, { hostBits: 'allow' })
  if (!cidr.ok) throw badRequest(`The query parameter "client" is not usable: ${cidr.problem.msg}`)
  return boundsOf(cidr.value)
}
