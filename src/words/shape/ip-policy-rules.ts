/** Rules of an IP policy: how often each decided, and how many a replacement of all changed; and who uses the policy. */
import { objectOf, oneOf, orNull, type Static, type TSchema, Type } from '../../ground/core/schema.js'
import { uriSchema } from '../resource/fields/id-schema.js'
import { ipPolicyRule } from '../resource/ip-policy.js'
import { anyResource } from '../resource/kind/define.js'
import { exampleId } from '../resource/kind/examples.js'
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
    updated: Type.Integer({
      minimum: 0,
      description: 'Description, metadata, expiry or `enforced` changed; the id stays.',
    }),
    removed: Type.Integer({ minimum: 0 }),
    kept: Type.Integer({ minimum: 0, description: 'Unchanged.' }),
    expired: Type.Integer({
      minimum: 0,
      description: 'Rules of the given list that had expired already: they were left out.',
    }),
  },
  {
    title: 'RuleCounts',
    description: 'How many rules were changed in which way.',
    examples: [{ added: 1, updated: 0, removed: 3, kept: 1, expired: 0 }],
  },
)

export type RuleCounts = Readonly<Static<typeof ruleCountsSchema>>

/** The kinds of resources that refer to IP policies or, a bouncer, to IP lists. */
export const usingKinds = ['ip_restriction', 'tcp_edge', 'https_edge_route', 'bouncer'] as const

const textOrNull = (description: string) => orNull(Type.String(), { description })

export const ipPolicyUseSchema = objectOf(
  {
    kind: oneOf(usingKinds),
    id: Type.String(),
    uri: uriSchema,
    field: Type.String({ description: 'The field that names the policy or list.' }),
    description: orNull(Type.String()),
    hostports: Type.Array(Type.String(), {
      description: 'Of the edge, or of the edge of the route; none for an IP restriction or a bouncer.',
    }),
    edge_id: textOrNull('Of a route: its edge.'),
    match: textOrNull('Of a route: its path or path prefix.'),
    type: textOrNull('Of a restriction: what it restricts.'),
    applies: Type.Boolean({
      description:
        'Is the module enabled, or the IP restriction enforced? If not, the policy blocks no one there. A bouncer always applies its policies and lists.',
    }),
  },
  {
    title: 'IpPolicyUse',
    description:
      'An edge, a route, an IP restriction or a bouncer that refers to an IP policy, or, in the answer about an address, to an IP list.',
  },
)

export type IpPolicyUse = Static<typeof ipPolicyUseSchema>

export const ipPolicyUsesExample = {
  kind: 'tcp_edge' as const,
  id: exampleId('edgtcp_'),
  uri: `https://weir.example.com/edges/tcp/${exampleId('edgtcp_')}`,
  field: 'ip_restriction.ip_policy_ids',
  description: 'ssh for the office',
  hostports: ['ssh.example.com:22'],
  edge_id: null,
  match: null,
  type: null,
  applies: true,
}

export const ipPolicyUsesSchema = objectOf(
  {
    uses: Type.Array(ipPolicyUseSchema, {
      description: 'IP restrictions first, then edges, routes and bouncers.',
    }),
    uses_left_out: Type.Integer({ minimum: 0, description: 'How many more there are.' }),
  },
  {
    title: 'IpPolicyUses',
    description: 'What refers to an IP policy.',
    examples: [
      {
        uses: [ipPolicyUsesExample],
        uses_left_out: 0,
      },
    ],
  },
)

export type IpPolicyUses = Static<typeof ipPolicyUsesSchema>

export const ipPolicyCountExample = { id: exampleId('ipp_'), rules: 12, uses: 3 }

export const ipPolicyCountSchema = objectOf(
  {
    id: Type.String({ description: 'The IP policy.' }),
    rules: Type.Integer({ minimum: 0 }),
    uses: Type.Integer({
      minimum: 0,
      description: 'Edges, routes, IP restrictions and bouncers that refer to it.',
    }),
  },
  { title: 'IpPolicyCount', description: 'How many rules an IP policy has, and how much refers to it.' },
)

export type IpPolicyCount = Static<typeof ipPolicyCountSchema>
