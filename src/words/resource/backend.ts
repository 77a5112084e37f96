import { Type } from '../../ground/core/schema.js'
import { defaulted, derived, described, labels } from './fields/fields.js'
import { defineResource } from './kind/define.js'

export const tunnelGroupBackend = defineResource({
  kind: 'tunnel_group_backend',
  idPrefix: 'bkdtg_',
  path: '/backends/tunnel_group',
  listName: 'backends',
  title: 'tunnel group backend',
  about: 'Tunnels that traffic goes to, chosen by their labels.',
  example: { description: 'the website', labels: { app: 'web', zone: 'eu' } },
  audit: 'tunnel_group_backend',
  keptWhileReferenced: true,
  fields: {
    ...described,
    labels: defaulted(labels, {}, { column: 'json' }),
    /** Tunnels are connections of agents to ingress nodes; Weir does not know them. */
    tunnels: { ...derived(Type.Array(Type.Unknown())), fallback: [], column: 'json' },
  },
})
