import { checkCatchAlls } from './fields/catch-alls.js'
import { backendModule, ipRestrictionModule } from './fields/edge-modules.js'
import { described } from './fields/fields.js'
import { hostportClaims, hostportOverlaps, hostports, hostportTaken } from './fields/hostport.js'
import { checkReserved } from './fields/tcp-address.js'
import { trafficPoliciesModule } from './fields/traffic-policies.js'
import { checkTrafficPolicies } from './fields/traffic-policy-check.js'
import { defineResource } from './kind/define.js'
import { exampleId } from './kind/examples.js'

export const tcpEdge = defineResource({
  kind: 'tcp_edge',
  idPrefix: 'edgtcp_',
  path: '/edges/tcp',
  listName: 'tcp_edges',
  title: 'TCP edge',
  about: 'Hostports that accept TCP connections, and what is done with those.',
  example: {
    description: 'ssh for the office',
    hostports: ['ssh.example.com:22'],
    ip_restriction: { ip_policy_ids: [exampleId('ipp_')] },
    policies: {
      inbound: [
        {
          name: 'only from home',
          expressions: ["conn.geo.country_code != 'US'"],
          actions: [{ type: 'log', config: { Metadata: { Message: 'from abroad' } } }, { type: 'deny' }],
        },
      ],
    },
    backend: { backend_id: exampleId('bkdtg_') },
  },
  audit: 'tcp_edge',
  fields: {
    ...described,
    hostports,
    backend: backendModule,
    ip_restriction: ipRestrictionModule,
    policies: trafficPoliciesModule,
  },
  claims: hostportClaims,
  takenMessage: hostportTaken,
  overlapMessage: hostportOverlaps,
  check(edge, previous, lookups) {
    checkReserved(edge, previous, lookups)
    checkCatchAlls(edge, previous, lookups)
    checkTrafficPolicies('tcp_edge', edge.policies, lookups)
  },
})
