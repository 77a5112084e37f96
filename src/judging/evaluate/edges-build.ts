/** Builds the edges of a view; those that did not change are taken over from the previous one. */
import type { Slices } from '../../ground/core/slices.js'
import { StringIndex } from '../../ground/core/string-index.js'
import {
  compileRoute,
  compileTcpEdge,
  type Endpoint,
  HttpsEdge,
  type Route,
  type SharedLists,
} from './edges.js'
import { type Hostports, HostportsBuilder } from './hostports.js'
import { Parts } from './parts.js'
import type { ConfigurationSource } from './policy-source.js'

export interface BuiltEdges {
  readonly tcpEdges: Parts<Endpoint>
  readonly tcpById: StringIndex<Endpoint>
  readonly httpsEdges: ReadonlyMap<string, HttpsEdge>
  readonly routes: Parts<Route>
}

export async function buildTcpEdges(
  source: ConfigurationSource,
  previous: BuiltEdges | undefined,
  lists: SharedLists,
  slices: Slices,
): Promise<Pick<BuiltEdges, 'tcpEdges' | 'tcpById'> & { readonly tcpHostports: Hostports<Endpoint> }> {
  const tcpEdges = new Parts(previous?.tcpEdges)
  const tcpHostports = new HostportsBuilder<Endpoint>()
  for (const row of source.rowsOf('tcp_edge')) {
    if (slices.isDue()) await slices.pause()
    const edge =
      tcpEdges.reuse(row.id, row.version) ?? tcpEdges.add(row.id, row.version, compileTcpEdge(row, lists))
    for (const hostport of row.hostports ?? []) tcpHostports.add(hostport.toLowerCase(), edge)
  }
  return {
    tcpEdges: tcpEdges.complete(),
    tcpById: new StringIndex(tcpEdges.values),
    tcpHostports: tcpHostports.complete(),
  }
}

export async function buildHttpsEdges(
  source: ConfigurationSource,
  previous: BuiltEdges | undefined,
  lists: SharedLists,
  slices: Slices,
): Promise<Pick<BuiltEdges, 'httpsEdges' | 'routes'> & { readonly httpsHostports: Hostports<HttpsEdge> }> {
  const httpsEdges = new Map<string, HttpsEdge>()
  const httpsHostports = new HostportsBuilder<HttpsEdge>()
  for (const row of source.rowsOf('https_edge')) {
    if (slices.isDue()) await slices.pause()
    const edge = new HttpsEdge(row, previous?.httpsEdges.get(row.id))
    httpsEdges.set(row.id, edge)
    for (const hostport of row.hostports ?? []) httpsHostports.add(hostport.toLowerCase(), edge)
  }
  const routes = new Parts(previous?.routes)
  for (const row of source.rowsOf('https_edge_route')) {
    if (slices.isDue()) await slices.pause()
    const route =
      routes.reuse(row.id, row.version) ?? routes.add(row.id, row.version, compileRoute(row, lists))
    httpsEdges.get(row.edge_id)?.add(route)
  }
  return { httpsEdges, httpsHostports: httpsHostports.complete(), routes: routes.complete() }
}
