/** Forms of edges and routes: what they are served at. */
import type { Changes, NewResource } from '../../../../words/client/kinds.js'
import { parameter } from '../../data/location.js'
import { type Edge, isHttps, isTcp, type Route, targetsOf } from '../../data/resources/edges.js'
import type { FormField } from '../../parts/forms/declared-field.js'
import { DeclaredForm } from '../../parts/forms/declared-form.js'

const hostports = (isHttps: boolean): FormField => ({
  name: 'hostports',
  label: 'Host names and ports',
  as: 'list',
  rows: 4,
  hint: `One on each line: ${isHttps ? 'www.example.com:443' : 'ssh.example.com:22'}, *.example.com:443`,
})

const description: FormField = {
  name: 'description',
  label: 'Description',
  as: 'text',
  isOptional: true,
  hint: 'What it is, for you and your colleagues: the shop.',
}

const metadata: FormField = {
  name: 'metadata',
  label: 'Notes for programs',
  as: 'lines',
  rows: 4,
  isOptional: true,
  hint: 'Any text of yours, up to 4,096 bytes, such as {"team": "shop"}. The API calls it metadata.',
}

const ambiguousTargets: FormField = {
  name: 'ambiguous_targets',
  label: 'Paths that servers read differently',
  as: 'choice',
  choices: [
    ['judge', 'judge every reading, the strictest decides'],
    ['refuse', 'refuse the request'],
  ],
  hint: 'Such as /a%2f..%2fb or /a//b. Refuse them if the application behind needs no such paths.',
}

const editEdge = { title: 'Edit the edge', submit: 'Save', done: 'The edge was saved.' }

interface EditProps<Shown> {
  readonly of: Shown
  readonly onClose: (isDone: boolean) => void
}

export function EditEdge({ of: edge, onClose }: EditProps<Edge>) {
  const targetsNow = isTcp(edge) ? '' : targetsOf(edge)
  return (
    <DeclaredForm
      look={editEdge}
      fields={[
        hostports(isHttps(edge.id)),
        description,
        metadata,
        ...(isTcp(edge) ? [] : [ambiguousTargets]),
      ]}
      present={{
        hostports: [...edge.hostports, parameter('hostport')].filter(Boolean).join('\n'),
        description: edge.description ?? '',
        metadata: edge.metadata ?? '',
        ambiguous_targets: targetsNow,
      }}
      send={(client, { ambiguous_targets: targets, ...body }) => {
        if (isTcp(edge)) return client.tcpEdge.update(edge.id, body as Changes<'tcpEdge'>)
        const changed = targets === targetsNow ? {} : { ambiguous_targets: targets }
        return client.httpsEdge.update(edge.id, { ...body, ...changed } as Changes<'httpsEdge'>)
      }}
      onClose={onClose}
    />
  )
}

const routeFields: readonly FormField[] = [
  {
    name: 'match_type',
    label: 'Serves requests of which',
    as: 'choice',
    choices: [
      ['path_prefix', 'the path begins with'],
      ['exact_path', 'the path is'],
    ],
  },
  {
    name: 'match',
    label: 'Path',
    as: 'text',
    initial: '/',
    hint: 'A prefix is of whole segments: /docs holds for /docs and /docs/a, not for /docsets.',
  },
  description,
]

const newRoute = { title: 'New route', submit: 'Create', done: 'The route was created.' }
const editRoute = { title: 'Edit the route', submit: 'Save', done: 'The route was saved.' }

interface RouteFormProps extends Pick<EditProps<Route>, 'onClose'> {
  readonly edgeId: string
  /** Undefined: a new one. */
  readonly of: Route | undefined
}

export const RouteForm = ({ edgeId, of: route, onClose }: RouteFormProps) => (
  <DeclaredForm
    look={route === undefined ? newRoute : editRoute}
    fields={routeFields}
    present={
      route && { match_type: route.match_type, match: route.match, description: route.description ?? '' }
    }
    send={(client, body) => {
      const routes = client.httpsEdgeRoute.under(edgeId)
      return route === undefined
        ? routes.create(body as NewResource<'httpsEdgeRoute'>)
        : routes.update(route.id, body as Changes<'httpsEdgeRoute'>)
    }}
    onClose={onClose}
  />
)
