import { defineResource } from './define.js'
import { backendModule, ipRestrictionModule } from './edge-modules.js'
import { described } from './fields.js'
import { hostportClaims, hostports, hostportTaken } from './hostport.js'
import { checkReserved } from './tcp-address.js'
import { checkTrafficPolicies, trafficPoliciesModule } from './traffic-policies.js'

export const tcpEdge = defineResource({
  kind: 'tcp_edge',
  idPrefix: 'edgtcp_',
  path: '/edges/tcp',
  listName: 'tcp_edges',
  title: 'TCP edge',
  fields: {
    ...described,
    hostports,
    backend: backendModule,
    ip_restriction: ipRestrictionModule,
    policies: trafficPoliciesModule,
  },
  claims: hostportClaims,
  takenMessage: hostportTaken,
  check(edge, previous, lookups) {
    checkReserved(edge, previous, lookups)
    if (edge.policies !== null) checkTrafficPolicies(edge.policies)
  },
})
