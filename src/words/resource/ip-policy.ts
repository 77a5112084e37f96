import { formatCidr, parseCidr } from '../../ground/core/address/cidr.js'
import { isoSeconds, now } from '../../ground/core/clock.js'
import { badRequest, complaintOf, conflict, shown } from '../../ground/core/errors.js'
import { rulesPerIpPolicyMax } from '../../ground/core/limits.js'
import { documented, oneOf, orNull, ruled, Type } from '../../ground/core/schema.js'
import { checkBansOfRule } from './bouncers/ban-count.js'
import { asIs, defaulted, described, required, writable } from './fields/fields.js'
import { reference } from './fields/reference-fields.js'
import { canonicalTime, timestamp } from './fields/timestamp-field.js'
import { defineResource, type Row } from './kind/define.js'
import { exampleId } from './kind/examples.js'

export const ipPolicy = defineResource({
  kind: 'ip_policy',
  idPrefix: 'ipp_',
  path: '/ip_policies',
  listName: 'ip_policies',
  title: 'IP policy',
  about:
    'A list of address ranges that are allowed or denied. Modules of edges, IP restrictions and bouncers refer to it.',
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

/**
 * One spelling per range, also for an address and the range of it alone, so that the same range can't appear in a policy
 * twice.
 */
function canonical(text: string): string {
  const parsed = parseRule(text)
  return parsed.ok ? formatCidr(parsed.value) : text
}

export interface Subject {
  readonly cidr?: string | null | undefined
  readonly list_id?: string | null | undefined
}

/** The subject of a rule: its range, or the id of its list. No range is written like an id. */
export const subjectOfRule = (rule: Subject | Row): string =>
  String((rule as Subject).cidr ?? (rule as Subject).list_id)

/** Throws unless a rule has a range or a list. `prefix`: of its names in the body. */
export function checkSubject({ cidr = null, list_id = null }: Subject, prefix = ''): void {
  if (cidr === null && list_id === null)
    throw badRequest(`"${prefix}cidr" is required for an IP policy rule, or "${prefix}list_id" in its place.`)
  if (cidr !== null && list_id !== null)
    throw badRequest(
      `"${prefix}cidr" and "${prefix}list_id" exclude each other: a rule has a range or a list.`,
    )
}

const lifetimeDaysMax = 3650
/** A rule expires within ten years, or never: a later time is most likely a mistake. */
const ruleLifetimeMaxMs = lifetimeDaysMax * 24 * 60 * 60_000

interface Expiring {
  readonly expires_at?: string | null | undefined
}

/** Has the rule no effect any more? Rows of earlier versions have no such field. */
export function isExpiredRule(rule: Expiring | Row, nowMs: number): boolean {
  const { expires_at } = rule as Expiring
  return Boolean(expires_at) && Date.parse(String(expires_at)) <= nowMs
}

/** Throws if a rule that is saved now would not expire within ten years. `name`: of the field in the body. */
export function checkRuleLifetime({ expires_at }: Expiring, nowMs: number, name = 'expires_at'): void {
  if (!expires_at || Date.parse(expires_at) - nowMs <= ruleLifetimeMaxMs) return
  throw badRequest(
    `"${name}" is ${shown(expires_at)}, but must be later than now, ${isoSeconds(nowMs)}, by at most ${lifetimeDaysMax} days; null: the rule never expires.`,
  )
}

/** Throws unless a rule that is saved now expires later, within ten years, or never. `name`: of the field in the body. */
export function checkExpiry(rule: Expiring, name = 'expires_at'): void {
  const nowMs = now()
  checkRuleLifetime(rule, nowMs, name)
  if (!isExpiredRule(rule, nowMs)) return
  throw badRequest(
    `"${name}" is ${shown(rule.expires_at)}, but must be later than now, ${isoSeconds(nowMs)}; null: the rule never expires.`,
  )
}

export const ipPolicyRule = defineResource({
  kind: 'ip_policy_rule',
  idPrefix: 'ipr_',
  path: '/ip_policy_rules',
  listName: 'ip_policy_rules',
  title: 'IP policy rule',
  about: 'A range of addresses, or an IP list, in an IP policy: allowed or denied.',
  example: {
    ip_policy_id: exampleId('ipp_'),
    cidr: '203.0.113.0/24',
    action: 'allow',
    description: 'fourth floor',
    expires_at: '2027-11-20T10:00:00Z',
  },
  audit: 'ip_policy_rule',
  fields: {
    ...described,
    cidr: {
      ...writable(cidr, { unset: 'null' }),
      isChoice: true,
      complete: canonical,
      shown: asIs(orNull(cidr, { description: 'Null for a rule with a list.' })),
    },
    list_id: {
      ...reference('ip_list', 'ipl_', { shownAs: 'list', unset: 'null' }),
      isChoice: true,
      fallback: null as string | null,
    },
    ip_policy_id: reference('ip_policy', 'ipp_', { shownAs: 'ip_policy', required: true, atCreation: true }),
    action: required(oneOf(['allow', 'deny']), { atCreation: true }),
    expires_at: {
      ...writable(timestamp, { unset: 'null' }),
      complete: canonicalTime,
      shown: asIs(
        orNull(Type.String({ format: 'date-time' }), {
          description:
            'From then on the rule has no effect, within two seconds, and is deleted soon after; null: it never expires.',
        }),
      ),
    },
    enforced: defaulted(
      Type.Boolean({
        description:
          'false: the rule decides nothing; what it would change is the shadow of decisions. Default: true.',
      }),
      true,
    ),
  },
  check(rule, previous, lookups) {
    if ((previous?.expires_at ?? null) !== rule.expires_at) checkExpiry(rule)
    checkSubject(rule)
    checkBansOfRule(rule as unknown as Row, previous as Row | undefined, lookups)
    const nowMs = now()
    // While a rule was expired, another one may have been made for its range.
    const isRevived = previous !== undefined && isExpiredRule(previous, nowMs)
    if (previous !== undefined && !isRevived && subjectOfRule(previous) === subjectOfRule(rule)) return
    if (previous === undefined && lookups.countRules(rule.ip_policy_id) >= rulesPerIpPolicyMax) {
      throw conflict(
        `"ip_policy_id" names ${rule.ip_policy_id}, which has ${rulesPerIpPolicyMax} rules: a policy can't have more.`,
      )
    }
    for (const other of lookups.rules(rule.ip_policy_id)) {
      if (subjectOfRule(other) !== subjectOfRule(rule) || other.id === rule.id) continue
      if (isExpiredRule(other, nowMs)) continue
      const [name, what] = rule.cidr === null ? ['list_id', 'list'] : ['cidr', 'CIDR']
      throw conflict(
        `"${name}" is "${subjectOfRule(rule)}", which the rule ${other.id} (${String(other['action'])}) of the same IP policy has: a ${what} may appear in a policy only once, whatever the action.`,
      )
    }
  },
})
