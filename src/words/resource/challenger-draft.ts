/**
 * The draft of a challenger: modules of edges and routes, rules of IP policies, and the restriction of endpoints, as they
 * would be.
 */
import { EntryFaults } from '../../ground/core/entry-faults.js'
import { badRequest, conflict, shown } from '../../ground/core/errors.js'
import { documented, objectOf, orNull, ruled, type TSchema, Type } from '../../ground/core/schema.js'
import type { BodyOf, ChangesOf } from './fields/client-types.js'
import { ipRestrictionModule } from './fields/edge-modules.js'
import { bodySchema, completed } from './fields/fields.js'
import { trafficPoliciesModule } from './fields/traffic-policies.js'
import { placeOfList } from './fields/traffic-policy-check.js'
import { checkExpiry, checkSubject, ipPolicyRule } from './ip-policy.js'
import { ipRestriction } from './ip-restriction.js'
import type { Fields, RowOf, StoredOf } from './kind/define.js'

/** A draft as JSON: with what it was drafted from, it fits a stored resource. */
const draftBytesMax = 128 * 1024
/** Edges and routes each: the rows that a promotion writes at once, whole, must fit the head of their account. */
const draftedEdgesMax = 50
const draftedPoliciesMax = 20
/** Rules that a draft adds, changes or removes, all together. */
const draftedRulesMax = 1_000

/** Modules of an edge or a route; one that is missing stays as it is. */
interface DraftedModules {
  readonly id: string
  readonly policies?: NonNullable<StoredOf<typeof trafficPoliciesModule>>
  readonly ip_restriction?: NonNullable<StoredOf<typeof ipRestrictionModule>>
}

type Rule = RowOf<typeof ipPolicyRule.fields>
type RuleValues = Omit<Rule, 'id' | 'account_id' | 'created_at' | 'version' | 'ip_policy_id'>

export interface DraftedRules {
  readonly id: string
  /** Each has an id from the creation of the challenger on, which the promotion keeps. */
  readonly add: readonly (RuleValues & { readonly id: string })[]
  readonly change: readonly (Partial<RuleValues> & { readonly id: string })[]
  readonly remove: readonly string[]
}

type Restriction = RowOf<typeof ipRestriction.fields>

export type DraftedRestriction = { readonly id: string } & Partial<
  Pick<Restriction, 'description' | 'metadata' | 'enforced' | 'ip_policy_ids'>
>

/** With every list, and with an id for all that is new. */
export interface ChallengerDraft {
  readonly edges: readonly DraftedModules[]
  readonly routes: readonly DraftedModules[]
  readonly ip_policies: readonly DraftedRules[]
  readonly ip_restrictions: readonly DraftedRestriction[]
}

const id = (prefixes: string, what: string) =>
  Type.String({
    maxLength: 80,
    description: `The id of ${what}.`,
    ...documented({ pattern: `^${prefixes}[0-9A-Za-z]{1,64}$` }),
  })

const optional = <S extends TSchema>(schema: S, options = {}) => Type.Optional(orNull(schema, options))

const modules = {
  policies: optional(trafficPoliciesModule.schema),
  ip_restriction: optional(ipRestrictionModule.schema),
}

const edge = objectOf({ id: id('edg(tcp|hts)_', 'the edge'), ...modules }, { title: 'DraftedEdge' })
const route = objectOf({ id: id('edghtsrt_', 'the route'), ...modules }, { title: 'DraftedRoute' })

const { ip_policy_id: _ofPolicy, ...ruleFields } = ipPolicyRule.fields
const changeable = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, { setBy }]) => setBy === 'client'))

/** The properties of the body that sets these fields. */
const membersOf = (fields: Fields): Record<string, TSchema> =>
  (bodySchema(fields) as unknown as { properties: Record<string, TSchema> }).properties

/** The same, all of them optional. */
const changesOf = (fields: Fields): Record<string, TSchema> =>
  Object.fromEntries(Object.entries(changeable(fields)).map(([name, { schema }]) => [name, optional(schema)]))

const rules = objectOf(
  {
    id: id('ipp_', 'the IP policy'),
    add: optional(
      Type.Array(
        objectOf(
          {
            id: optional(Type.String({ maxLength: 80 }), {
              description: 'Given by Weir, and kept by the promotion; what is sent is ignored.',
            }),
            ...membersOf(ruleFields),
          },
          { title: 'DraftedRule' },
        ),
      ),
    ),
    change: optional(
      Type.Array(
        objectOf(
          { id: id('ipr_', 'the rule'), ...changesOf(ruleFields) },
          {
            title: 'DraftedRuleChange',
            description:
              'Members that are left out stay as they are. To clear one, remove the rule and add another.',
          },
        ),
      ),
    ),
    remove: optional(Type.Array(id('ipr_', 'a rule'))),
  },
  { title: 'DraftedRules', description: 'Rules of an IP policy that are added, changed or removed.' },
)

const restriction = objectOf(
  {
    id: optional(id('ipx_', 'the restriction'), {
      description:
        'Missing: the account has no restriction of the type "endpoints" yet, and gets one. Weir gives its id.',
    }),
    ...changesOf(ipRestriction.fields),
  },
  {
    title: 'DraftedRestriction',
    description: 'Members that are left out stay as they are.',
  },
)

const list = <S extends TSchema>(entry: S, maxItems: number) => optional(Type.Array(entry, { maxItems }))

interface SentModules {
  readonly id: string
  readonly policies?: BodyOf<typeof trafficPoliciesModule.fields> | null | undefined
  readonly ip_restriction?: BodyOf<typeof ipRestrictionModule.fields> | null | undefined
}

interface SentRules {
  readonly id: string
  readonly add?: readonly (BodyOf<typeof ruleFields> & { readonly id?: string | null })[] | null | undefined
  readonly change?: readonly (ChangesOf<typeof ruleFields> & { readonly id: string })[] | null | undefined
  readonly remove?: readonly string[] | null | undefined
}

type SentRestriction = ChangesOf<typeof ipRestriction.fields> & { readonly id?: string | null }

/** A draft as it is sent. */
interface SentDraft {
  readonly edges?: readonly SentModules[] | null | undefined
  readonly routes?: readonly SentModules[] | null | undefined
  readonly ip_policies?: readonly SentRules[] | null | undefined
  readonly ip_restrictions?: readonly SentRestriction[] | null | undefined
}

export const draftSchema = ruled(
  Type.Unsafe<SentDraft>(
    objectOf(
      {
        edges: list(edge, draftedEdgesMax),
        routes: list(route, draftedEdgesMax),
        ip_policies: list(rules, draftedPoliciesMax),
        ip_restrictions: list(restriction, 1),
      },
      {
        title: 'ChallengerDraft',
        description: `What would be changed. At most ${draftBytesMax} bytes of JSON, and ${draftedRulesMax} rules.`,
      },
    ),
  ),
  (draft) =>
    Buffer.byteLength(JSON.stringify(draft)) > draftBytesMax
      ? `at most ${draftBytesMax} bytes of JSON are allowed`
      : undefined,
)

/** Without members that are null, which means that they are left out. */
const given = <T extends object>(entry: T): T =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null && value !== undefined)) as T

function completeModules(entry: SentModules): DraftedModules {
  const { id, policies, ip_restriction } = given(entry)
  return {
    id,
    ...(policies && { policies: trafficPoliciesModule.complete(policies as never) }),
    ...(ip_restriction && { ip_restriction: ipRestrictionModule.complete(ip_restriction as never) }),
  }
}

/** The values that a change sets. Null means that a member is left out, as anywhere within a body. */
function changesIn(fields: Fields, entry: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const changes: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(entry)) {
    if (value === undefined || value === null) continue
    const complete = fields[name]?.complete
    changes[name] = complete === undefined ? value : complete(value as never)
  }
  return changes
}

/** A valid draft with every list, and the values of new rules in full. */
export function completeDraft(draft: SentDraft): ChallengerDraft {
  return {
    edges: (draft.edges ?? []).map(completeModules),
    routes: (draft.routes ?? []).map(completeModules),
    ip_policies: (draft.ip_policies ?? []).map(({ id, add, change, remove }) => ({
      id,
      add: (add ?? []).map((rule) => ({
        ...(rule.id && { id: rule.id }),
        ...completed(ruleFields, rule as never),
      })) as never,
      change: (change ?? []).map((rule) => changesIn(ruleFields, rule)) as never,
      remove: remove ?? [],
    })),
    ip_restrictions: (draft.ip_restrictions ?? []).map((entry) =>
      changesIn(ipRestriction.fields, entry),
    ) as never,
  }
}

/** Checks what the schema can't say and no other resource decides; throws an error that names the places. */
export function checkDraft(draft: ChallengerDraft): void {
  const faults = new EntryFaults()
  const seen = new Set<string>()
  const once = (place: string, id: string | undefined): void => {
    if (id === undefined) return
    if (seen.has(id)) faults.add(place, conflict(`"${place}" names ${shown(id)} a second time.`))
    seen.add(id)
  }
  for (const name of ['edges', 'routes'] as const) {
    for (const [index, entry] of draft[name].entries()) {
      const place = `draft.${name}[${index}]`
      once(`${place}.id`, entry.id)
      const problem = modulesProblem(entry, place)
      if (problem !== undefined) faults.add(place, badRequest(problem))
    }
  }
  let rules = 0
  for (const [index, { id, add, change, remove }] of draft.ip_policies.entries()) {
    const place = `draft.ip_policies[${index}]`
    once(`${place}.id`, id)
    for (const [at, { id }] of change.entries()) once(`${place}.change[${at}].id`, id)
    for (const [at, id] of remove.entries()) once(`${place}.remove[${at}]`, id)
    for (const [at, rule] of add.entries())
      faults.check(`${place}.add[${at}]`, () => {
        checkSubject(rule, `${place}.add[${at}].`)
        checkExpiry(rule, `${place}.add[${at}].expires_at`)
      })
    for (const [at, rule] of change.entries())
      faults.check(`${place}.change[${at}]`, () => checkExpiry(rule, `${place}.change[${at}].expires_at`))
    rules += add.length + change.length + remove.length
  }
  if (rules > draftedRulesMax)
    faults.add(
      'draft.ip_policies',
      badRequest(
        `"draft.ip_policies" adds, changes or removes ${rules} rules: at most ${draftedRulesMax} are allowed.`,
      ),
    )
  faults.throwIfAny()
}

function modulesProblem({ id, policies, ip_restriction }: DraftedModules, place: string): string | undefined {
  if (policies === undefined && ip_restriction === undefined)
    return `"${place}" drafts nothing: "policies" or "ip_restriction" is needed.`
  // Their routes have the module.
  if (ip_restriction !== undefined && id.startsWith('edghts_'))
    return `"${place}.ip_restriction" is given, but an HTTPS edge has no such module: draft it for its routes.`
  return undefined
}

/** The kind of an edge or a route, from its id. */
export const kindOfEdge = (id: string): 'tcp_edge' | 'https_edge' | 'https_edge_route' =>
  id.startsWith('edgtcp_') ? 'tcp_edge' : id.startsWith('edghts_') ? 'https_edge' : 'https_edge_route'

/** The place in a draft that names the list, such as `ip_policies[0].add[1].list_id`. */
export function placeOfListInDraft(
  { edges, routes, ip_policies }: ChallengerDraft,
  list: { readonly id: string; readonly name: string },
): string | undefined {
  for (const [index, { add, change }] of ip_policies.entries())
    for (const [kind, rules] of Object.entries({ add, change })) {
      const at = rules.findIndex(({ list_id }) => list_id === list.id)
      if (at >= 0) return `ip_policies[${index}].${kind}[${at}].list_id`
    }
  for (const [kind, entries] of Object.entries({ edges, routes }))
    for (const [index, { id, policies }] of entries.entries()) {
      const place = placeOfList(kindOfEdge(id), policies, list.name)
      if (place !== undefined) return `${kind}[${index}].${place}`
    }
  return undefined
}
