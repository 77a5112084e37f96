import { defineResource } from '../define.js'
import { exampleId } from '../examples.js'
import { bearerToken, lastUse, withToken } from '../fields/bearer-token.js'
import { described } from '../fields/fields.js'
import { ipPolicyIds } from '../fields/reference-fields.js'

export const bouncer = defineResource({
  kind: 'bouncer',
  idPrefix: 'bnc_',
  path: '/bouncers',
  listName: 'bouncers',
  title: 'bouncer',
  about:
    "A program that enforces IP policies elsewhere, such as a firewall: it reads their deny rules in the form of CrowdSec's local API. Its token is shown once, when the bouncer is created.",
  example: {
    description: 'the firewall in Frankfurt',
    ip_policy_ids: [exampleId('ipp_')],
    last_used_at: '2026-11-20T10:00:00Z',
    last_used_from: '192.0.2.10',
  },
  audit: 'bouncer',
  deletionRevokes: true,
  fields: {
    ...described,
    ip_policy_ids: ipPolicyIds(1),
    ...bearerToken,
    ...lastUse('in a request that was refused'),
  },
  derive: withToken,
})
