/** TCP, TLS and HTTPS edges with their routes. Each of their modules is an item. */
import type { JsonObject } from '../../../ground/core/json-object.js'
import { complaintAboutRoute } from '../draft/draft-account.js'
import type { ImportRun } from '../draft/import-run.js'
import type { Item } from '../draft/item.js'
import { describedIn, ipRestrictionIn } from './ip-policies.js'
import { type PolicyModules, trafficPoliciesIn } from './traffic-policy.js'

const guard = 'Weir does not check it, and lets in what it refused: keep the check in your ingress.'
const transport = 'Weir decides about traffic and does not carry it: your ingress does it.'

/** Modules that Weir does not have, and why. */
const foreignModules: Readonly<Record<string, string>> = {
  mutual_tls: guard,
  oauth: guard,
  oidc: guard,
  saml: guard,
  user_agent_filter: `${guard} A traffic policy with an expression about http.request.user_agent may do the same.`,
  webhook_verification: guard,
  circuit_breaker: transport,
  compression: transport,
  request_headers: transport,
  response_headers: transport,
  tls_termination: transport,
  websocket_tcp_converter: transport,
}

/** Names of the module with traffic policies; the later ones hold a text. */
const policyModules = ['policies', 'policy', 'traffic_policy']

type Kind = 'tcp_edge' | 'https_edge_route'

interface Modules extends PolicyModules {
  readonly backend?: { readonly enabled: unknown; readonly backend_id: string }
}

/** The modules that Weir has; `kept` are those that become a part of the edge. */
function modulesIn(run: ImportRun, item: Item, kind: Kind): { modules: Modules; kept: readonly Item[] } {
  for (const [name, reason] of Object.entries(foreignModules)) item.child(name)?.refuse(reason)
  const kept: Item[] = []
  const taken = <T>(name: string, read: (module: Item) => T | undefined): T | undefined => {
    const module = item.child(name)
    if (module?.isReadable !== true) return undefined
    const value = read(module)
    if (value !== undefined) kept.push(module)
    return value
  }
  const backend = taken('backend', (module) => backendIn(run, module))
  const ip_restriction = taken('ip_restriction', (module) => ipRestrictionIn(run, module))
  const isRestricted = ip_restriction !== undefined
  let policies: PolicyModules | undefined
  for (const name of policyModules) {
    const found = taken(name, (module) => {
      if (policies === undefined) return trafficPoliciesIn(run, module, { id: item.id, kind, isRestricted })
      module.refuse('Another module has the traffic policies.')
      return undefined
    })
    policies ??= found
  }
  return {
    kept,
    modules: { ...(backend && { backend }), ...(ip_restriction && { ip_restriction }), ...policies },
  }
}

function backendIn(run: ImportRun, module: Item): Modules['backend'] {
  const enabled = module.get('enabled') ?? true
  const id = module.reference('backend')
  if (id !== undefined && run.account.has(id)) return { enabled, backend_id: id }
  module.refuse(id === undefined ? 'It names no backend.' : `The backend ${id} is not taken.`)
  return undefined
}

function hostportsIn(run: ImportRun, item: Item): unknown {
  const hostports = item.get('hostports')
  for (const hostport of Array.isArray(hostports) ? hostports : [])
    if (run.reservedAddresses.has(hostport))
      item.change(
        `Its hostport ${hostport} is the address that Weir draws for ${run.reservedAddresses.get(hostport)}.`,
      )
  return hostports
}

export function readTcpEdge(run: ImportRun, item: Item): void {
  const { modules, kept } = modulesIn(run, item, 'tcp_edge')
  const body = { ...describedIn(item), hostports: hostportsIn(run, item), ...modules }
  if (run.account.add('tcpEdge', item, item.id, body)) for (const module of kept) module.become(item.made!)
}

/** Whoever ends TLS, it is decided about the connection. */
export function readTlsEdge(run: ImportRun, item: Item): void {
  readTcpEdge(run, item)
  item.change(
    'It is a TCP edge: its connections are decided about alike, and your ingress ends TLS or passes it on.',
  )
}

export function readHttpsEdge(run: ImportRun, item: Item): void {
  for (const name of ['mutual_tls', 'tls_termination']) item.child(name)?.refuse(foreignModules[name]!)
  const routes = item
    .list('routes')
    .map((value, index) =>
      item.childOf('https_edge_route', `routes[${index}]`, value, ['id', 'uri', 'created_at', 'edge_id']),
    )
    .filter(({ isReadable }) => isReadable)
    .map((route) => ({ route, ...routeIn(run, route) }))
  const taken = routes.filter(({ shown }) => shown !== undefined)
  const body = { ...describedIn(item), hostports: hostportsIn(run, item) }
  if (!run.account.add('httpsEdge', item, item.id, body, { routes: taken.map(({ shown }) => shown!) })) return
  for (const { route, kept } of taken) for (const each of [route, ...kept]) each.become(item.made!)
}

function routeIn(run: ImportRun, route: Item): { shown: JsonObject | undefined; kept: readonly Item[] } {
  const { modules, kept } = modulesIn(run, route, 'https_edge_route')
  const body = {
    ...describedIn(route),
    match_type: route.get('match_type'),
    match: route.get('match'),
    ...modules,
  }
  const complaint = complaintAboutRoute(body)
  if (complaint !== undefined) route.refuse(complaint)
  const { backend, ip_restriction } = modules
  const shown = {
    ...body,
    id: route.id,
    ...(backend && { backend: { enabled: backend.enabled, backend: backend.backend_id } }),
    ...(ip_restriction && {
      ip_restriction: { enabled: ip_restriction.enabled, ip_policies: ip_restriction.ip_policy_ids },
    }),
  }
  return { shown: complaint === undefined ? shown : undefined, kept }
}
