/** Rules of an IP policy: how often each decided, and how many a replacement of all changed. */
import { objectOf, orNull, type Static, type TSchema, Type } from '../core/schema.js'
import { anyResource } from '../resource/define.js'
import { ipPolicyRule } from '../resource/ip-policy.js'
import { resourceSchema } from '../resource/shown-schema.js'

const useExample = { blocked: 310, asked: 12, last_at: '2026-11-20T10:04:00Z' }

const ruleUseSchema = objectOf(
  {
    blocked: Type.Integer({ minimum: 0, description: 'Records that this rule blocked.' }),
    asked: Type.Integer({
      minimum: 0,
      description: 'Questions of ingress nodes and proxies that were answered `block` because of this rule.',
    }),
    last_at: orNull(Type.String(), {
      description: 'The minute in which it last blocked: RFC 3339 in UTC; null: not since then.',
    }),
  },
  { title: 'RuleUse', description: 'How often a deny rule decided.', examples: [useExample] },
)

/** The member of a rule in lists that are asked for its counts. */
export const ruleUseMember = orNull(ruleUseSchema, {
  description:
    'How often the rule decided, with `counts_since`. Null without it, and for an allow rule: no single one lets a client in.',
})

const rule = anyResource(ipPolicyRule)

export const usedRuleSchema = objectOf(
  {
    ...(resourceSchema(rule) as { properties: Record<string, TSchema> }).properties,
    counts: ruleUseMember,
  },
  { title: 'UsedIpPolicyRule', description: 'A rule of an IP policy, and how often it decided.' },
)

export type RuleUseCounts = Static<typeof ruleUseSchema>

/** The response to a replacement of all rules of an IP policy. */
export const ruleCountsSchema = objectOf(
  {
    added: Type.Integer({ minimum: 0 }),
    updated: Type.Integer({ minimum: 0, description: 'Description or metadata changed; the id stays.' }),
    removed: Type.Integer({ minimum: 0 }),
    kept: Type.Integer({ minimum: 0, description: 'Unchanged.' }),
  },
  {
    title: 'RuleCounts',
    description: 'How many rules were changed in which way.',
    examples: [{ added: 1, updated: 0, removed: 3, kept: 1 }],
  },
)

export type RuleCounts = Readonly<Static<typeof ruleCountsSchema>>
