/** Findings, which can hardly be meant: rules without effect, expressions that are constant, and what nobody uses. */
import { mapOf, objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { uriSchema } from '../resource/fields/id-schema.js'
import { exampleId } from '../resource/kind/examples.js'

/** Findings of a kind that are listed; the others are counted. */
export const findingsListedMax = 100
/** Traffic of this time is looked at, as far as the decision log has it. */
export const findingDays = 30

export const findingKinds = [
  'allow_in_deny',
  'rules_contradict',
  'rule_covered',
  'rule_never_matched',
  'ip_policy_unused',
  'expression_constant',
  'expression_fails',
  'policy_unreachable',
  'edge_open',
  'subscription_silent',
  'key_unused',
  'list_stale',
  'certificate_refused',
  'name_overlaps',
] as const

export type FindingKind = (typeof findingKinds)[number]

const nullable = orNull(Type.String())
const instant = (description: string) => orNull(Type.String({ format: 'date-time' }), { description })
const count = (description: string) => orNull(Type.Integer({ minimum: 0 }), { description })

const placeSchema = objectOf(
  {
    kind: Type.String({ description: 'The kind of the resource.' }),
    id: Type.String(),
    place: orNull(Type.String(), {
      description: 'The part of the resource, such as `policies.inbound[2].expressions[0]`.',
    }),
    name: orNull(Type.String(), {
      description:
        'Of a rule its range or the name of its list, of an edge its first hostport, else the name or description.',
    }),
    uri: uriSchema,
  },
  { title: 'FindingPlace' },
)

const evidenceSchema = objectOf(
  {
    since: instant('The time that the numbers cover begins; null: all that is known.'),
    until: instant('Its end.'),
    looked_at: count('Records that could have shown the opposite.'),
    matched: count('Those that did.'),
    uses: count('Edges, routes and IP restrictions where it holds.'),
    by: orNull(placeSchema, { description: 'The rule or traffic policy that causes it.' }),
    used_by: orNull(placeSchema, { description: 'One of the `uses`.' }),
    expression: nullable,
  },
  { title: 'FindingEvidence' },
)

const draftSchema = objectOf(
  {
    method: oneOf(['POST', 'PATCH']),
    uri: uriSchema,
    body: mapOf(Type.Unknown()),
  },
  {
    title: 'FindingDraft',
    description:
      'How it would be without it. POST tries it on recorded traffic and changes nothing; PATCH takes it out of force, and `validate_only` checks that.',
  },
)

const findingSchema = objectOf(
  {
    kind: oneOf(findingKinds),
    severity: oneOf(
      ['attention', 'notice'],
      'attention: something does not do what it says. notice: it can most likely go.',
    ),
    about: placeSchema,
    sentence: Type.String({ description: 'What it is, for a person. Times in it are in UTC.' }),
    evidence: evidenceSchema,
    draft: orNull(draftSchema),
  },
  { title: 'Finding' },
)

const foundKindSchema = objectOf(
  {
    kind: oneOf(findingKinds),
    looked_at: Type.Integer({ minimum: 0, description: 'Parts of the configuration that were looked at.' }),
    found: Type.Integer({ minimum: 0 }),
    left_out: Type.Integer({
      minimum: 0,
      description: `Of those found, how many are not listed: at most ${findingsListedMax} are.`,
    }),
    unknown: orNull(Type.String(), {
      description: 'Why some or all parts could not be judged; null: all were.',
    }),
  },
  { title: 'FoundKind' },
)

const ruleExample = (id: string, name: string) => ({
  kind: 'ip_policy_rule',
  id: exampleId(id),
  place: null,
  name,
  uri: `https://weir.example.com/ip_policy_rules/${exampleId(id)}`,
})

const example = {
  as_of: '2026-11-20T10:04:00Z',
  kinds: [{ kind: 'rule_covered', looked_at: 120, found: 1, left_out: 0, unknown: null }],
  findings: [
    {
      kind: 'rule_covered',
      severity: 'notice',
      about: ruleExample('ipr_', '203.0.113.7/32'),
      sentence:
        'The rule for 203.0.113.7/32 changes nothing: 203.0.113.0/24 is allowed by the same IP policy.',
      evidence: {
        since: null,
        until: null,
        looked_at: null,
        matched: null,
        uses: null,
        by: ruleExample('ipr_', '203.0.113.0/24'),
        used_by: null,
        expression: null,
      },
      draft: {
        method: 'PATCH',
        uri: `https://weir.example.com/ip_policy_rules/${exampleId('ipr_')}`,
        body: { enforced: false },
      },
    },
  ],
}

export const findingsSchema = objectOf(
  {
    as_of: Type.String({ format: 'date-time' }),
    kinds: Type.Array(foundKindSchema, { description: 'All kinds, also those of which nothing was found.' }),
    findings: Type.Array(findingSchema, { description: 'In the order of the kinds.' }),
  },
  { title: 'Findings', description: 'What of a configuration can hardly be meant.', examples: [example] },
)

export type Findings = Static<typeof findingsSchema>
export type Finding = Static<typeof findingSchema>
