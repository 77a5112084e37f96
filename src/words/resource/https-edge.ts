import { conflict, shown } from '../../ground/core/errors.js'
import { boundedBytes, oneOf, ruled } from '../../ground/core/schema.js'
import { checkCatchAlls } from './fields/catch-alls.js'
import { backendModule, ipRestrictionModule } from './fields/edge-modules.js'
import { asIs, described, required, writable } from './fields/fields.js'
import { hostportClaims, hostportOverlaps, hostports, hostportTaken } from './fields/hostport.js'
import { idSchema } from './fields/id-schema.js'
import { reference } from './fields/reference-fields.js'
import { checkReserved } from './fields/tcp-address.js'
import { trafficPoliciesModule } from './fields/traffic-policies.js'
import { checkTrafficPolicies } from './fields/traffic-policy-check.js'
import { defineResource } from './kind/define.js'
import { exampleId } from './kind/examples.js'

const match = ruled(boundedBytes(1024, 'The path, or the path prefix in whole segments.'), (path) => {
  if (!path.startsWith('/')) return 'a path that begins with "/" is needed'
  return /[?#\s]/.test(path) ? 'a path must not contain "?", "#" or white space' : undefined
})

/** A prefix matches whole segments, so a slash at its end makes no difference. */
const sameMatch = (type: unknown, match: unknown): string =>
  type === 'path_prefix' ? `${String(match).replace(/\/$/, '')}/` : String(match)

export const httpsEdgeRoute = defineResource({
  kind: 'https_edge_route',
  idPrefix: 'edghtsrt_',
  path: '/edges/https/{edge_id}/routes',
  listName: 'routes',
  title: 'HTTPS edge route',
  about: 'What an HTTPS edge does with requests whose path matches.',
  example: {
    edge_id: exampleId('edghts_'),
    match_type: 'path_prefix',
    match: '/docs',
    backend: { backend_id: exampleId('bkdtg_') },
    ip_restriction: { ip_policy_ids: [exampleId('ipp_')] },
    policies: {
      inbound: [
        {
          name: 'only with a key',
          expressions: ["http.request.headers['x-api-key'] == null"],
          actions: [{ type: 'deny' }],
        },
      ],
    },
  },
  operations: ['create', 'get', 'update', 'delete'],
  audit: 'https_edge_route',
  parent: { kind: 'https_edge', field: 'edge_id' },
  fields: {
    edge_id: {
      ...reference('https_edge', 'edghts_', { shownAs: 'edge_id', required: true, atCreation: true }),
      shown: asIs(idSchema('https_edge', 'edghts_')),
    },
    ...described,
    match_type: required(oneOf(['exact_path', 'path_prefix'])),
    match: required(match),
    backend: backendModule,
    ip_restriction: ipRestrictionModule,
    policies: trafficPoliciesModule,
  },
  check(route, _previous, lookups) {
    checkTrafficPolicies('https_edge_route', route.policies, lookups)
    for (const other of lookups.children('https_edge_route', String(route.edge_id))) {
      if (other.id === route.id || other['match_type'] !== route.match_type) continue
      if (sameMatch(other['match_type'], other['match']) !== sameMatch(route.match_type, route.match))
        continue
      throw conflict(
        `"match" is ${shown(route.match)}, which the route ${other.id} of the same edge has with the same "match_type": a path belongs to one route.`,
      )
    }
  },
})

export const httpsEdge = defineResource({
  kind: 'https_edge',
  idPrefix: 'edghts_',
  path: '/edges/https',
  listName: 'https_edges',
  title: 'HTTPS edge',
  about: 'Hostports that accept HTTPS requests, what is done with those, and routes by path.',
  example: {
    description: 'the website',
    hostports: ['www.example.com:443'],
    policies: {
      inbound: [
        {
          name: 'no scanners',
          expressions: ["http.request.url.path.startsWith('/wp-')"],
          actions: [{ type: 'deny' }],
        },
      ],
    },
  },
  audit: 'https_edge',
  fields: {
    ...described,
    hostports,
    policies: trafficPoliciesModule,
    ambiguous_targets: writable(
      oneOf(
        ['judge', 'refuse'],
        'Requests whose path servers read differently, such as `/a%2f..%2fb`: judge every reading (the default), or refuse them.',
      ),
    ),
  },
  claims: hostportClaims,
  takenMessage: hostportTaken,
  overlapMessage: hostportOverlaps,
  check(edge, previous, lookups) {
    checkReserved(edge, previous, lookups)
    checkCatchAlls(edge, previous, lookups)
    checkTrafficPolicies('https_edge', edge.policies, lookups)
  },
})
