import { formatCidr, parseCidr } from '../core/address/cidr.js'
import { complaintOf, conflict } from '../core/errors.js'
import { rulesPerIpPolicyMax } from '../core/limits.js'
import { documented, oneOf, ruled, Type } from '../core/schema.js'
import { defineResource } from './define.js'
import { exampleId } from './examples.js'
import { described, required } from './fields/fields.js'
import { reference } from './fields/reference-fields.js'

export const ipPolicy = defineResource({
  kind: 'ip_policy',
  idPrefix: 'ipp_',
  path: '/ip_policies',
  listName: 'ip_policies',
  title: 'IP policy',
  about:
    'A list of address ranges that are allowed or denied. Modules of edges and IP restrictions refer to it.',
  example: { description: 'the office' },
  audit: 'ip_policy',
  fields: described,
})

const ipv4Pattern = '[0-9]{1,3}(\\.[0-9]{1,3}){3}(/(3[0-2]|[12]?[0-9]))?'
const ipv6Pattern = '[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?'
const cidrPattern = `^(${ipv4Pattern}|${ipv6Pattern})$`

const parseRule = (text: string) => parseCidr(text, { hostBits: 'refuse' })

const cidr = ruled(
  Type.String({
    title: 'Cidr',
    maxLength: 64,
    description:
      'An address, or a range in CIDR notation with its lowest address, IPv4 or IPv6. An address is shown as the range of itself: /32 or /128.',
    ...documented({ pattern: cidrPattern }),
  }),
  (text) => complaintOf(parseRule(text))?.replace(/\.$/, ''),
)

/** One spelling per range, also for an address and the range of it alone, so that the same range can't appear in a policy twice. */
function canonical(text: string): string {
  const parsed = parseRule(text)
  return parsed.ok ? formatCidr(parsed.value) : text
}

export const ipPolicyRule = defineResource({
  kind: 'ip_policy_rule',
  idPrefix: 'ipr_',
  path: '/ip_policy_rules',
  listName: 'ip_policy_rules',
  title: 'IP policy rule',
  about: 'A range of addresses in an IP policy, allowed or denied.',
  example: {
    ip_policy_id: exampleId('ipp_'),
    cidr: '203.0.113.0/24',
    action: 'allow',
    description: 'fourth floor',
  },
  audit: 'ip_policy_rule',
  fields: {
    ...described,
    cidr: { ...required(cidr), complete: canonical },
    ip_policy_id: reference('ip_policy', 'ipp_', { shownAs: 'ip_policy', required: true, atCreation: true }),
    action: required(oneOf(['allow', 'deny']), { atCreation: true }),
  },
  check(rule, previous, lookups) {
    if (previous?.cidr === rule.cidr) return
    if (previous === undefined && lookups.countRules(rule.ip_policy_id) >= rulesPerIpPolicyMax) {
      throw conflict(
        `"ip_policy_id" names ${rule.ip_policy_id}, which has ${rulesPerIpPolicyMax} rules: a policy can't have more.`,
      )
    }
    for (const other of lookups.rules(rule.ip_policy_id)) {
      if (other['cidr'] !== rule.cidr || other.id === rule.id) continue
      throw conflict(
        `"cidr" is "${rule.cidr}", which the rule ${other.id} (${String(other['action'])}) of the same IP policy has: a CIDR may appear in a policy only once, whatever the action.`,
      )
    }
  },
})
