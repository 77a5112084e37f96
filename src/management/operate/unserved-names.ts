/** The attention that unserved records need: their names, the edges that there are, and what is nearest. */

import { hostOf } from '../../delivery/record/spelling.js'
import type { RecordType, TrafficRecord } from '../../delivery/record/traffic-record.js'
import { nearestHostports } from '../../ground/core/address/nearest-hostports.js'
import { shown } from '../../ground/core/errors.js'
import type { PolicySet } from '../../judging/evaluate/policy-set.js'
import type { Attention } from '../../words/shape/overview.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { AccountPolicies } from '../access/account-policies.js'
import { rowsOf } from '../exchange/rows.js'
import type { UnservedName, UnservedNames } from '../store/logs/unserved-names.js'
import { attention, counted } from './destination-attention.js'

/** Names that are looked at; those that an edge serves by now are left out. */
export const namesRead = 1_000
const namesShown = 20
const namesInSentence = 3
const edgesInSentence = 3
const nameCharsMax = 100
/** A share of the records that someone should look at: clients ask any server for names at random. */
const shareOfConcern = 0.01

interface Deployment {
  readonly state: ViewState
  readonly policySet: PolicySet
  readonly accountId: string
}

/** The finding about an account's own records. */
export async function namesFinding(
  found: UnservedNames,
  state: ViewState,
  accountId: string,
  policies: Pick<AccountPolicies, 'of'>,
): Promise<Attention[]> {
  if (found.records === 0) return []
  const deployment = { state, accountId, policySet: await policies.of(state, accountId) }
  const open = found.names.filter((name) => !isServed(name, deployment))
  const servedByNow = sumOf(found.names) - sumOf(open)
  const records = found.records - servedByNow
  if (records <= 0) return []
  const edges = edgesOf(deployment)
  const served = edges.map(({ hostport }) => hostport)
  const names = merged(open)
  const others = found.namesCount - found.names.length
  return [
    attention({
      type: 'unserved_names',
      severity: records >= shareOfConcern * found.recordsOfAll ? 'attention' : 'notice',
      sentence: sentenceOf(records, names, others, served),
      count: records,
      names: names.slice(0, namesShown).map((name) => shownName(name, edges)),
    }),
  ]
}

/** The finding about records that belong to no account, which all accounts see, without the names. */
export function unownedFinding({ records }: Pick<UnservedNames, 'records'>): Attention[] {
  if (records === 0) return []
  const sentence = `${counted(records, 'record')} of this deployment in the last 24 hours ${records === 1 ? 'names' : 'name'} no account, and no edge serves ${records === 1 ? 'it' : 'them'}, so no account sees ${records === 1 ? 'it' : 'them'}: publish with "weir publish --account", or with a key of the account.`
  const about = { count: records, scope: 'deployment' } as const
  return [attention({ type: 'unserved_names', severity: 'notice', sentence, ...about })]
}

const sumOf = (names: readonly UnservedName[]): number => names.reduce((sum, { count }) => sum + count, 0)

function isServed(
  { type, serverName, serverPort }: UnservedName,
  { policySet, accountId }: Deployment,
): boolean {
  const conn = { client_ip: '::', server_name: serverName, server_port: serverPort }
  const found = policySet.findEdgeOf(accountId, { record_id: '', type, conn } as TrafficRecord)
  return found.ok && found.value.edgeId !== undefined
}

interface ServedHostport {
  readonly hostport: string
  readonly edgeId: string
  readonly type: RecordType
}

const edgeKinds = [
  ['tcp_edge', 'tcp_connection'],
  ['https_edge', 'http_request'],
] as const

const edgesOf = ({ state, accountId }: Deployment): ServedHostport[] =>
  edgeKinds.flatMap(([kind, type]) =>
    [...rowsOf(state, accountId, kind)].flatMap(({ id, hostports }) =>
      ((hostports ?? []) as string[]).map((hostport) => ({ hostport, edgeId: id, type })),
    ),
  )

/** With the edge that could serve it, too: one that serves such records. */
function shownName(
  { name, type, serverName, serverPort, count }: NamedCount,
  edges: readonly ServedHostport[],
): Attention['names'][number] {
  const alike = edges.filter((edge) => edge.type === type)
  const hostports = alike.map(({ hostport }) => hostport)
  const [nearest] = serverName === '' ? [] : nearestHostports(name, hostports, 1)
  return {
    name,
    count,
    type,
    server_name: serverName === '' ? null : serverName,
    server_port: serverPort === 0 ? null : serverPort,
    nearest: nearest ?? null,
    nearest_edge_id: alike.find(({ hostport }) => hostport === nearest)?.edgeId ?? null,
  }
}

/** As hostports are written. A name that a client sent may be any text. */
function nameOf({ serverName, serverPort }: UnservedName): string {
  if (serverName === '') return serverPort === 0 ? 'no name' : `no name, port ${serverPort}`
  const host = hostOf(serverName)
  const plain = /^[\w.:[\]-]*$/.test(host) && host.length <= nameCharsMax ? host : shown(host, nameCharsMax)
  return serverPort === 0 ? plain : `${plain}:${serverPort}`
}

interface NamedCount extends UnservedName {
  readonly name: string
}

/** Spellings of one name, and its requests and connections, together; those with the most records first. */
function merged(names: readonly UnservedName[]): NamedCount[] {
  const byName = new Map<string, NamedCount>()
  for (const each of names) {
    const name = nameOf(each)
    const known = byName.get(name)
    byName.set(name, { ...(known ?? each), name, count: (known?.count ?? 0) + each.count })
  }
  return [...byName.values()].sort((one, other) => other.count - one.count)
}

function sentenceOf(
  records: number,
  names: readonly { readonly name: string; readonly count: number }[],
  others: number,
  served: readonly string[],
): string {
  const some = names.slice(0, namesInSentence)
  const left = names.length + others - some.length
  const listed = some.map(({ name, count }) => (names.length === 1 ? name : `${name} (${count})`))
  const asked = [...listed, ...(left > 0 ? [counted(left, 'other name')] : [])].join(', ')
  return `${counted(records, 'record')} in the last 24 hours: no edge serves ${asked}; ${edgesIn(some[0]?.name ?? '', served)}.`
}

function edgesIn(name: string, served: readonly string[]): string {
  if (served.length === 0) return 'there is no edge with a hostport yet'
  const nearest = nearestHostports(name, served, edgesInSentence)
  const left = served.length - nearest.length
  return `your edges: ${nearest.join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}
