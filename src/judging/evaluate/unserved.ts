/** Names that no edge serves: what questions over HTTP say about them, and which of some names these are. */

import { hostOf } from '../../delivery/record/spelling.js'
import { recordTypeOf, type TrafficRecord } from '../../delivery/record/traffic-record.js'
import {
  type AskedName,
  namesAskedMax,
  type ServedAnswer,
  type ServedQuestion,
} from '../../delivery/wire/served-names.js'
import { nearestHostports } from '../../ground/core/address/nearest-hostports.js'
import { badRequest, ok, problem, type Result, shown } from '../../ground/core/errors.js'
import { isObject } from '../../ground/core/json-object.js'
import type { PolicySet } from './policy-set.js'
import type { ConfigurationSource } from './policy-source.js'

/** The choices of a question for such a name. */
export const unservedWords = ['allow', 'deny'] as const

export type Unserved = (typeof unservedWords)[number]

/** As a question says it. Throws if it is neither of the words. */
export function unservedIn(text: string | undefined): Unserved | undefined {
  if (text === undefined || text === 'allow' || text === 'deny') return text
  throw badRequest(`The query parameter "unserved" is ${shown(text)}: allow or deny is allowed.`)
}

/** The choice of a question that makes none. */
export const unservedFor = ({ contents }: PolicySet, accountId: string): Unserved =>
  contents.accounts.get(accountId)?.allowsUnserved ? 'allow' : 'deny'

const hostportsLookedAt = 1_000
const hostportsShown = 3

/** Is a request on `weir.decide` such a question? */
export const isServedQuestion = (request: unknown): request is { readonly served_names: unknown } =>
  isObject(request) && 'served_names' in request

export function parseServedQuestion(request: object): Result<ServedQuestion> {
  const { account_id, served_names } = request as Readonly<Record<string, unknown>>
  if (account_id !== undefined && typeof account_id !== 'string')
    return problem('"account_id" must be a string.')
  if (!Array.isArray(served_names) || served_names.length > namesAskedMax || !served_names.every(isName))
    return problem(
      `"served_names" must be a list of at most ${namesAskedMax} objects with type, server_name and server_port.`,
    )
  return ok({ account_id, served_names })
}

function isName(name: unknown): name is AskedName {
  if (!isObject(name)) return false
  const { type, server_name, server_port } = name
  return recordTypeOf(type) !== undefined && typeof server_name === 'string' && Number.isInteger(server_port)
}

export function servedNames(
  policySet: PolicySet,
  source: ConfigurationSource,
  { account_id, served_names }: ServedQuestion,
): ServedAnswer {
  const endpoints = served_names.map(({ type, ...server }) => {
    const record = { record_id: '', type, account_id, conn: { client_ip: '::', ...server } } as TrafficRecord
    const found = policySet.findEdge(record)
    return found.ok ? found.value : undefined
  })
  const accountId = policySet.contents.accounts.get(account_id ?? source.soleAccountId?.() ?? '')?.accountId
  const first = served_names[endpoints.findIndex((endpoint) => endpoint?.edgeId === undefined)]
  const hostports = accountId === undefined ? [] : hostportsOf(source, accountId)
  const edges =
    first === undefined
      ? []
      : nearestHostports(`${hostOf(first.server_name)}:${first.server_port}`, hostports, hostportsShown)
  return {
    served: endpoints.map((endpoint) => endpoint?.edgeId !== undefined),
    account_id: accountId ?? null,
    edges,
    more_edges: hostports.length > edges.length,
  }
}

function hostportsOf(source: ConfigurationSource, accountId: string): string[] {
  const hostports: string[] = []
  for (const kind of ['tcp_edge', 'https_edge'] as const)
    for (const edge of source.rowsOf(kind)) {
      if (edge.account_id === accountId) hostports.push(...(edge.hostports ?? []))
      if (hostports.length >= hostportsLookedAt) return hostports
    }
  return hostports
}
