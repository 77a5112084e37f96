import { moduleField } from './fields.js'
import { ipPolicyIds, reference } from './reference-fields.js'

export const backendModule = moduleField('BackendModule', {
  backend_id: reference('tunnel_group_backend', 'bkdtg_', { shownAs: 'backend', required: true }),
})

export const ipRestrictionModule = moduleField('IpRestrictionModule', { ip_policy_ids: ipPolicyIds(1) })
