/** Edges and routes by their ids, whatever their kind. */
import type { Client } from '../../../../words/client/client.js'
import type { Resource } from '../../../../words/client/kinds.js'
import { firstOf } from '../asking/api.js'

type TcpEdge = Resource<'tcpEdge'>
export type HttpsEdge = Resource<'httpsEdge'>
export type Route = Resource<'httpsEdgeRoute'>
export type Edge = TcpEdge | HttpsEdge
export type PoliciesModule = NonNullable<TcpEdge['policies']>
export type IpRestrictionModule = NonNullable<TcpEdge['ip_restriction']>
export type BackendModule = NonNullable<TcpEdge['backend']>

/** Where a module is: at an edge, or at a route of an HTTPS edge. */
export interface Place {
  readonly edgeId: string
  readonly routeId?: string | undefined
}

export const isHttps = (edgeId: string): boolean => edgeId.startsWith('edghts_')

/** TCP edges alone have a backend and IP policies of their own; of an HTTPS edge, its routes have. */
export const isTcp = (edge: Edge): edge is TcpEdge => !isHttps(edge.id)

/** The way in which an HTTPS edge treats targets that servers read differently. */
export const targetsOf = ({
  ambiguous_targets: chosen,
}: Partial<Pick<HttpsEdge, 'ambiguous_targets'>>): 'judge' | 'refuse' => chosen ?? 'judge'

export const edgeOf = (client: Client, id: string): Promise<Edge> =>
  isHttps(id) ? client.httpsEdge.get(id) : client.tcpEdge.get(id)

/** The kind's operations for an edge or route, and its id there. */
export const policiesAt = (client: Client, { edgeId, routeId }: Place) => {
  const id = routeId ?? edgeId
  if (routeId !== undefined) return { id, policies: client.httpsEdgeRoute.under(edgeId).policies }
  return { id, policies: isHttps(edgeId) ? client.httpsEdge.policies : client.tcpEdge.policies }
}

/** The path of the editor of the policies at a place. */
export const policiesPath = ({ edgeId, routeId }: Place): readonly string[] => [
  'edges',
  edgeId,
  ...(routeId === undefined ? [] : [routeId]),
  'policies',
]

/** The place whose policies an operation of the API is about; undefined for another path. */
export function placeOfPolicies(uri: string): Place | undefined {
  const [, edgeId, routeId] =
    /\/edges\/(?:tcp|https)\/(edg\w+)(?:\/routes\/(\w+))?\/policies\b/.exec(uri) ?? []
  return edgeId === undefined ? undefined : { edgeId, routeId }
}

/** Where a module with a backend or IP policies may be: a TCP edge or a route. */
export const operationsAt = (client: Client, { edgeId, routeId }: Place) =>
  routeId === undefined
    ? { id: edgeId, operations: client.tcpEdge }
    : { id: routeId, operations: client.httpsEdgeRoute.under(edgeId) }

/** The draft of a challenger that changes modules at a place. */
export const draftAt = <Modules extends object>({ edgeId, routeId }: Place, modules: Modules) =>
  routeId === undefined ? { edges: [{ id: edgeId, ...modules }] } : { routes: [{ id: routeId, ...modules }] }

/** The policies that hold at a place: null if there are none. */
export async function presentPolicies(
  client: Client,
  { edgeId, routeId }: Place,
): Promise<PoliciesModule | null> {
  const at: Edge | Route =
    routeId === undefined
      ? await edgeOf(client, edgeId)
      : await client.httpsEdgeRoute.under(edgeId).get(routeId)
  return at.policies
}

/** The newest edges, at most so many of each kind. */
export async function newestEdges(client: Client, eachMax: number): Promise<readonly Edge[]> {
  const [tcp, https] = await Promise.all([
    firstOf(client.tcpEdge.list({ limit: 100 }), eachMax),
    firstOf(client.httpsEdge.list({ limit: 100 }), eachMax),
  ])
  return [...tcp.entries, ...https.entries]
}

/** An expression that is true for edges whose hostports, description or id contain the text. */
export const edgeFilter = (text: string): string => {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return ''
  const quoted = `'${wanted.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const has = (name: string): string => `lower(string(${name}))|contains(${quoted})`
  return `${has('hostports')} || ${has('description')} || ${has('id')}`
}
