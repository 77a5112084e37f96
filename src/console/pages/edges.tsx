/** Edges by hostport, what is decided at each, and how it decides. */
import type { PageProps } from '../parts/page-props.js'
import { EdgeList } from './edges/edge-list.js'
import { EdgeView } from './edges/edge-view.js'
import { PolicyEditor } from './edges/policy-editor.js'

/** `edges`, `edges/<edge>`, `edges/<edge>/policies`, `edges/<edge>/<route>/policies`. */
export function Edges({ rest: [edgeId, second, third] }: PageProps) {
  if (edgeId === undefined) return <EdgeList />
  if (second === 'policies') return <PolicyEditor key={edgeId} place={{ edgeId }} />
  if (second !== undefined && third === 'policies')
    return <PolicyEditor key={second} place={{ edgeId, routeId: second }} />
  return <EdgeView key={edgeId} id={edgeId} />
}
