import { conflict } from '../../ground/core/errors.js'
import { oneOf, Type } from '../../ground/core/schema.js'
import { defaulted, described, required } from './fields/fields.js'
import { ipPolicyIds } from './fields/reference-fields.js'
import { defineResource } from './kind/define.js'
import { exampleId } from './kind/examples.js'

export const ipRestriction = defineResource({
  kind: 'ip_restriction',
  idPrefix: 'ipx_',
  path: '/ip_restrictions',
  listName: 'ip_restrictions',
  title: 'IP restriction',
  about:
    'Addresses from which endpoints, API, dashboard or agents of the account may be used; one of each type.',
  example: { type: 'endpoints', enforced: true, ip_policy_ids: [exampleId('ipp_')] },
  audit: 'ip_restriction',
  fields: {
    ...described,
    enforced: defaulted(Type.Boolean({ description: 'false: only warnings are issued.' }), false),
    type: required(oneOf(['dashboard', 'api', 'agent', 'endpoints']), { atCreation: true }),
    ip_policy_ids: ipPolicyIds(1),
  },
  check(restriction, previous, lookups) {
    if (previous !== undefined) return
    for (const other of lookups.all('ip_restriction')) {
      if (other['type'] !== restriction.type) continue
      throw conflict(
        `"type" is "${restriction.type}", and the restriction ${other.id} has that type: an account can have one restriction per type.`,
      )
    }
  },
})
