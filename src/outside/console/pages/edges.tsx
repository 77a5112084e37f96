/** Edges by hostport, what is decided at each, and how it decides. */
import { onDemand } from '../parts/on-demand.js'
import type { PageProps } from '../parts/page.js'
import { EdgeList } from './edges/edge-list.js'

const EdgeView = onDemand(async () => (await import('./edges/edge-view.js')).EdgeView)
const PolicyEditor = onDemand(async () => (await import('./edges/policy-editor.js')).PolicyEditor)
const NewEdge = onDemand(async () => (await import('./edges/new/flow.js')).NewEdge)

/** `edges`, `edges/new`, `edges/<edge>`, `edges/<edge>/policies`, `edges/<edge>/<route>/policies`. */
export function Edges({ rest: [edgeId, second, third] }: PageProps) {
  if (edgeId === undefined) return <EdgeList />
  if (edgeId === 'new') return <NewEdge />
  if (second === 'policies') return <PolicyEditor key={edgeId} place={{ edgeId }} />
  if (second !== undefined && third === 'policies')
    return <PolicyEditor key={second} place={{ edgeId, routeId: second }} />
  return <EdgeView key={edgeId} id={edgeId} />
}
