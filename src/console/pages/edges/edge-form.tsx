/** Forms of edges and routes: what they are served at. */
import { useSignal } from '@preact/signals'
import type { Client } from '../../../client/client.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { type Edge, isHttps, isTcp, type Route, targetsOf } from '../../data/resources/edges.js'
import { ChoiceField, LinesField, TextField } from '../../parts/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'

const linesOf = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')

export function NewEdge({ kind }: { readonly kind: 'tcp' | 'https' }) {
  const hostports = useSignal(parameter('hostport'))
  const description = useSignal('')
  const targets = useSignal(targetsOf({}))
  const create = async (client: Client): Promise<void> => {
    const body = { hostports: linesOf(hostports.value), description: description.value }
    const { id } =
      kind === 'tcp'
        ? await client.tcpEdge.create(body)
        : await client.httpsEdge.create({ ...body, ambiguous_targets: targets.value })
    go(hrefTo(['edges', id]))
  }
  return (
    <FormDrawer
      title={kind === 'tcp' ? 'New TCP edge' : 'New HTTPS edge'}
      submit="Create"
      done="The edge was created."
      work={create}
      onClose={(isDone) => {
        if (!isDone) setParameters({ new: '', hostport: '' })
      }}
    >
      <Hostports value={hostports} isHttps={kind === 'https'} />
      <Description value={description} />
      {kind === 'https' && <AmbiguousTargets value={targets} />}
    </FormDrawer>
  )
}

interface SignalOf<Value> {
  value: Value
}

type TextSignal = SignalOf<string>

const Hostports = ({ value, isHttps }: { readonly value: TextSignal; readonly isHttps: boolean }) => (
  <LinesField
    label="Hostports"
    value={value.value}
    onChange={(text) => {
      value.value = text
    }}
    hint={`One in a line: ${isHttps ? 'www.example.com:443' : 'ssh.example.com:22'}, *.example.com:443`}
  />
)

const Description = ({ value }: { readonly value: TextSignal }) => (
  <TextField
    label="Description"
    value={value.value}
    onChange={(text) => {
      value.value = text
    }}
  />
)

const AmbiguousTargets = ({ value }: { readonly value: SignalOf<ReturnType<typeof targetsOf>> }) => (
  <ChoiceField
    label="Ambiguous targets"
    value={value.value}
    choices={[
      ['judge', 'judge every reading, the strictest decides'],
      ['refuse', 'refuse the request'],
    ]}
    onChange={(chosen) => {
      value.value = chosen === 'refuse' ? 'refuse' : 'judge'
    }}
    hint="Requests whose path servers read differently, such as /a%2f..%2fb or /a//b. Refuse them if the application behind needs no such paths."
  />
)

interface EditProps<Shown> {
  readonly of: Shown
  readonly onClose: (isDone: boolean) => void
}

export function EditEdge({ of: edge, onClose }: EditProps<Edge>) {
  const hostports = useSignal([...edge.hostports, parameter('hostport')].filter(Boolean).join('\n'))
  const description = useSignal(edge.description ?? '')
  const metadata = useSignal(edge.metadata ?? '')
  const targetsNow = isTcp(edge) ? undefined : targetsOf(edge)
  const targets = useSignal(targetsNow ?? targetsOf({}))
  return (
    <FormDrawer
      title="Edit the edge"
      submit="Save"
      done="The edge was saved."
      work={(client) => {
        const body = {
          hostports: linesOf(hostports.value),
          description: description.value,
          metadata: metadata.value,
        }
        if (isTcp(edge)) return client.tcpEdge.update(edge.id, body)
        const changed = targets.value === targetsNow ? {} : { ambiguous_targets: targets.value }
        return client.httpsEdge.update(edge.id, { ...body, ...changed })
      }}
      onClose={onClose}
    >
      <Hostports value={hostports} isHttps={isHttps(edge.id)} />
      <Description value={description} />
      <Metadata value={metadata} />
      {!isTcp(edge) && <AmbiguousTargets value={targets} />}
    </FormDrawer>
  )
}

const Metadata = ({ value }: { readonly value: TextSignal }) => (
  <LinesField
    label="Metadata"
    value={value.value}
    onChange={(text) => {
      value.value = text
    }}
    hint="Any text of yours, up to 4,096 bytes."
  />
)

const matchTypes = [
  ['path_prefix', 'the path begins with'],
  ['exact_path', 'the path is'],
] as const

/** `of`: undefined for a new one. */
export function RouteForm({
  edgeId,
  of: route,
  onClose,
}: Omit<EditProps<Route>, 'of'> & { readonly of: Route | undefined; readonly edgeId: string }) {
  const type = useSignal<(typeof matchTypes)[number][0]>(route?.match_type ?? 'path_prefix')
  const match = useSignal(route?.match ?? '/')
  const description = useSignal(route?.description ?? '')
  const work = (client: Client): Promise<unknown> => {
    const routes = client.httpsEdgeRoute.under(edgeId)
    const body = { match_type: type.value, match: match.value, description: description.value }
    return route === undefined ? routes.create(body) : routes.update(route.id, body)
  }
  return (
    <FormDrawer
      title={route === undefined ? 'New route' : 'Edit the route'}
      submit={route === undefined ? 'Create' : 'Save'}
      done={route === undefined ? 'The route was created.' : 'The route was saved.'}
      work={work}
      onClose={onClose}
    >
      <ChoiceField
        label="Serves requests of which"
        value={type.value}
        choices={matchTypes}
        onChange={(chosen) => {
          type.value = chosen === 'exact_path' ? 'exact_path' : 'path_prefix'
        }}
      />
      <TextField
        label="Path"
        value={match.value}
        onChange={(text) => {
          match.value = text
        }}
        hint="A prefix is of whole segments: /docs holds for /docs and /docs/a, not for /docsets."
      />
      <Description value={description} />
    </FormDrawer>
  )
}
