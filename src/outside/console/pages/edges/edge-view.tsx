/** One edge: where it is served, what was decided there, and by what. */
import { act, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { type Edge, edgeOf, isHttps, isTcp, targetsOf } from '../../data/resources/edges.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import { ExpressionFailures } from '../../parts/expression-failures.js'
import { Answered } from '../../parts/states.js'
import { EditEdge, RouteForm } from './edge-form.js'
import { EdgeTraffic } from './edge-traffic.js'
import { BackendForm, IpRestrictionForm } from './module-forms.js'
import { Modules } from './modules.js'
import { Routes } from './routes.js'

/** The part that is edited in a drawer: `edge`, `backend`, `ip_restriction`, or a route's with its id behind a colon. */
const editedNow = (): { readonly what: string; readonly routeId: string | undefined } => {
  const [what = '', routeId] = parameter('edit').split(':')
  return { what, routeId }
}

export function EdgeView({ id }: { readonly id: string }) {
  const edge = useAnswer([id], (client) => edgeOf(client, id))
  const closed = (isDone: boolean): void => {
    setParameters({ edit: '', trial: '', hostport: '' })
    if (isDone) edge.again()
  }
  return (
    <div class="stack">
      <p>
        <Link to={['edges']}>← all edges</Link>
      </p>
      <Answered answer={edge}>
        {(found) => (
          <>
            <Head edge={found} />
            <EdgeTraffic edge={found} />
            <ExpressionFailures edgeId={id} />
            <Modules place={{ edgeId: id }} of={found} again={edge.again} />
            {!isTcp(found) && <Routes edge={found} again={edge.again} />}
            <Edited edge={found} onClose={closed} />
          </>
        )}
      </Answered>
    </div>
  )
}

function Head({ edge }: { readonly edge: Edge }) {
  const remove = async (): Promise<void> => {
    const isDone = await act('The edge was deleted.', (client) =>
      isHttps(edge.id) ? client.httpsEdge.delete(edge.id) : client.tcpEdge.delete(edge.id),
    )
    if (isDone) go(hrefTo(['edges']))
  }
  const [first = 'An edge without hostport', ...others] = edge.hostports
  return (
    <>
      <div class="row apart">
        <h1>{first}</h1>
        <div class="row">
          <EditButton onClick={() => setParameters({ edit: 'edge' })}>Edit</EditButton>
          <EditButton
            kind="danger"
            onClick={remove}
            confirm={`Delete the edge of ${first}? Its hostports are not served any more, and others may take them.`}
          >
            Delete
          </EditButton>
        </div>
      </div>
      <dl class="facts">
        {others.length > 0 && (
          <>
            <dt>Also</dt>
            <dd>{others.join(', ')}</dd>
          </>
        )}
        {edge.description !== undefined && (
          <>
            <dt>Description</dt>
            <dd>{edge.description}</dd>
          </>
        )}
        {edge.metadata !== undefined && (
          <>
            <dt>Metadata</dt>
            <dd class="mono">{edge.metadata}</dd>
          </>
        )}
        <dt>Kind</dt>
        <dd>
          {isHttps(edge.id) ? 'HTTPS edge' : 'TCP edge'} <code>{edge.id}</code>
        </dd>
        {!isTcp(edge) && targetsOf(edge) === 'refuse' && (
          <>
            <dt>Ambiguous targets</dt>
            <dd>refused: requests whose path servers read differently</dd>
          </>
        )}
        <dt>Created</dt>
        <dd>
          <Time at={edge.created_at} isRelative /> ·{' '}
          <Link to={['changes']} with={{ id: edge.id }}>
            history
          </Link>
        </dd>
      </dl>
    </>
  )
}

interface EditedProps {
  readonly edge: Edge
  readonly onClose: (isDone: boolean) => void
}

/** The form that the URL names. */
function Edited({ edge, onClose }: EditedProps) {
  const { what, routeId } = editedNow()
  const routes = isTcp(edge) ? [] : edge.routes
  const route = routes.find(({ id }) => id === routeId)
  const place = { edgeId: edge.id, routeId: route?.id }
  const holder = route ?? (isTcp(edge) ? edge : undefined)
  if (what === 'edge') return <EditEdge of={edge} onClose={onClose} />
  if (what === 'route' && !isTcp(edge)) return <RouteForm edgeId={edge.id} of={route} onClose={onClose} />
  if (holder === undefined) return null
  if (what === 'ip_restriction')
    return <IpRestrictionForm place={place} module={holder.ip_restriction} onClose={onClose} />
  if (what === 'backend') return <BackendForm place={place} module={holder.backend} onClose={onClose} />
  return null
}
