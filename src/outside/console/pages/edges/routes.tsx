/** The routes of an HTTPS edge, each with its modules. */
import { act } from '../../data/asking/api.js'
import { setParameters } from '../../data/location.js'
import type { HttpsEdge, Route } from '../../data/resources/edges.js'
import { Link } from '../../kit/link.js'
import { EditButton } from '../../parts/edit-button.js'
import { Empty } from '../../parts/states.js'
import { Modules } from './modules.js'

interface RoutesProps {
  readonly edge: HttpsEdge
  readonly again: () => void
}

export function Routes({ edge, again }: RoutesProps) {
  return (
    <section class="stack" aria-label="Routes">
      <div class="row apart">
        <h2>Routes</h2>
        <EditButton onClick={() => setParameters({ edit: 'route' })}>New route</EditButton>
      </div>
      {edge.routes.length === 0 && (
        <Empty>
          There is no route. A route says what becomes of requests by their path: its IP policies, its traffic
          policies, its backend.
        </Empty>
      )}
      {edge.routes.map((route) => (
        <RouteView key={route.id} edgeId={edge.id} route={route} again={again} />
      ))}
    </section>
  )
}

interface RouteViewProps {
  readonly edgeId: string
  readonly route: Route
  readonly again: () => void
}

function RouteView({ edgeId, route, again }: RouteViewProps) {
  const { id, match_type, match, description } = route
  const remove = async (): Promise<void> => {
    const isDone = await act('The route was deleted.', (client) =>
      client.httpsEdgeRoute.under(edgeId).delete(id),
    )
    if (isDone) again()
  }
  return (
    <details class="route" open>
      <summary>
        {match_type === 'exact_path' ? 'is' : 'begins with'} <code>{match}</code>{' '}
        {description !== undefined && <span class="quiet">{description}</span>}
      </summary>
      <div class="stack">
        <div class="row apart">
          <span class="quiet">
            <code>{id}</code> ·{' '}
            <Link to={['changes']} with={{ id }}>
              history
            </Link>
          </span>
          <div class="row">
            <EditButton onClick={() => setParameters({ edit: `route:${id}` })}>Edit</EditButton>
            <EditButton kind="danger" onClick={remove} confirm={`Delete the route of ${match}?`}>
              Delete
            </EditButton>
          </div>
        </div>
        <Modules place={{ edgeId, routeId: id }} of={route} again={again} />
      </div>
    </details>
  )
}
