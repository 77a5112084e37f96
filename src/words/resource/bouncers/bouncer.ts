import { badRequest, conflict } from '../../../ground/core/errors.js'
import { bouncersPerAccountMax, ipListsPerBouncerMax } from '../../../ground/core/limits.js'
import { bearerToken, lastUse, withToken } from '../fields/bearer-token.js'
import { described } from '../fields/fields.js'
import { ipPolicyIds, references } from '../fields/reference-fields.js'
import { defineResource } from '../kind/define.js'
import { exampleId } from '../kind/examples.js'
import { checkBansOfBouncer } from './ban-count.js'

export const bouncer = defineResource({
  kind: 'bouncer',
  idPrefix: 'bnc_',
  path: '/bouncers',
  listName: 'bouncers',
  title: 'bouncer',
  about:
    "A program that enforces IP policies and IP lists elsewhere, such as a firewall: it reads deny rules and entries in the form of CrowdSec's local API. Its token is shown once, when the bouncer is created.",
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
    ip_policy_ids: {
      ...ipPolicyIds(0),
      required: false as const,
      isChoice: true,
      fallback: [] as string[],
    },
    ip_list_ids: {
      ...references('ip_list', 'ipl_', { shownAs: 'ip_lists', min: 0, max: ipListsPerBouncerMax }),
      isChoice: true,
      fallback: [] as string[],
    },
    ...bearerToken,
    ...lastUse('in a request that was refused'),
  },
  derive: withToken,
  check(bouncer, previous, lookups) {
    // Bouncers that an earlier version stored have no lists.
    const { ip_policy_ids, ip_list_ids = [] } = bouncer
    if (ip_policy_ids.length + ip_list_ids.length === 0)
      throw badRequest(
        '"ip_policy_ids" or "ip_list_ids" is required for a bouncer: what it enforces. Neither names anything.',
      )
    const count = previous === undefined ? [...lookups.all('bouncer')].length : 0
    if (count >= bouncersPerAccountMax)
      throw conflict(
        `The account has ${count} bouncers: at most ${bouncersPerAccountMax} are allowed. Delete one first.`,
      )
    checkBansOfBouncer(bouncer, previous, lookups)
  },
})
