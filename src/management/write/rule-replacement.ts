/** Plans the replacement of all rules of an IP policy: which rules are added, updated, removed or kept. */
import { startOfSecond } from '../../ground/core/clock.js'
import { EntryFaults } from '../../ground/core/entry-faults.js'
import { badRequest, conflict, valueAt } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { rulesBodyBytesMax, rulesPerIpPolicyMax } from '../../ground/core/limits.js'
import { objectOf, type TSchema, Type } from '../../ground/core/schema.js'
import { compileCheck } from '../../ground/core/schema-check.js'
import type { Slices } from '../../ground/core/slices.js'
import { isEnforced } from '../../judging/evaluate/policy-source.js'
import { bodySchema } from '../../words/resource/fields/fields.js'
import {
  checkRuleLifetime,
  checkSubject,
  ipPolicy,
  ipPolicyRule,
  isExpiredRule,
  subjectOfRule,
} from '../../words/resource/ip-policy.js'
import { type AnyResource, anyResource, type Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { resourceSchema } from '../../words/resource/shown-schema.js'
import { type RuleCounts, ruleUseMember } from '../../words/shape/ip-policy-rules.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Caller } from '../access/caller.js'
import { lockoutGuard } from '../access/lockout-guard.js'
import { checkNames, createValues } from '../exchange/body/input.js'
import { refuseChanged, withIds } from '../exchange/body/sent-back.js'
import type { Presenter } from '../exchange/present.js'
import { rowOf } from '../exchange/rows.js'
import type { RulesDraft, RulesPlan } from '../store/change/plan.js'
import { checkLists } from './row-relations.js'

/** A rule in the body has no policy, because the path names it. */
const { ip_policy_id: _ofPath, ...ruleFields } = ipPolicyRule.fields
const entryResource: AnyResource = anyResource({ ...ipPolicyRule, fields: ruleFields } as typeof ipPolicyRule)

/** Read-only members of a rule as GET shows it: an entry may repeat them. */
const shownOnly: Readonly<Record<string, TSchema>> = Object.fromEntries(
  Object.entries(
    (resourceSchema(anyResource(ipPolicyRule)) as { properties: Record<string, TSchema> }).properties,
  )
    .filter(([name]) => !Object.hasOwn(ruleFields, name))
    .map(([name, schema]) => [name, Type.Optional(schema)]),
)

const entrySchema = objectOf(
  {
    ...(bodySchema(ruleFields) as { properties: Record<string, TSchema> }).properties,
    ...shownOnly,
    counts: Type.Optional(ruleUseMember),
  },
  {
    title: 'IpPolicyRuleInput',
    description: `A rule, or an entry of a list of rules: its ${Object.keys(shownOnly).join(', ')} are accepted unchanged, and refused with another value; counts are ignored.`,
  },
)

export const rulesBodySchema = Type.Object(
  {
    rules: Type.Array(entrySchema, { maxItems: rulesPerIpPolicyMax }),
  },
  {
    title: 'IpPolicyRulesReplace',
    additionalProperties: false,
    description: `At most ${rulesPerIpPolicyMax} rules, and ${rulesBodyBytesMax} bytes.`,
    examples: [
      {
        rules: [
          { cidr: '203.0.113.0/24', action: 'allow' },
          { cidr: '203.0.113.128/25', action: 'deny', description: 'guests' },
        ],
      },
    ],
  },
)

/** A rule of the body, with every field. */
interface WantedRule {
  readonly cidr: string | null
  readonly list_id: string | null
  readonly action: string
  readonly description: string | null
  readonly metadata: string | null
  readonly expires_at: string | null
  readonly enforced: boolean
}

type MakeRow = (wanted: WantedRule, from: Row | undefined, version: number) => Row

/** A rule of the body, and the read-only members that it repeats of an existing rule. */
interface SentRule {
  readonly rule: WantedRule
  /** Undefined if it repeats nothing. */
  readonly repeated: Readonly<Record<string, unknown>> | undefined
}

const checkList = compileCheck(Type.Array(Type.Unknown(), { maxItems: rulesPerIpPolicyMax }))
const checkEntry = compileCheck(Type.Object({}))

/** The rules of a body. A list that is sent again may have rules that have expired: they are counted, not saved. */
interface SentRules {
  readonly lasting: readonly SentRule[]
  readonly expired: number
}

/** The rules of a body, checked in slices so that other requests proceed; so is all other work with them. */
export async function wantedRules(
  body: Record<string, unknown>,
  requestedAt: number,
  slices: Slices,
): Promise<SentRules> {
  checkWholeList(body)
  const list = body['rules']
  if (list === undefined) throw badRequest('"rules" is required for a list of IP policy rules.')
  const wrong = checkList(list, 'rules')
  if (wrong !== undefined) throw badRequest(wrong)
  const lasting: SentRule[] = []
  let expired = 0
  const places = new Map<string, number>()
  const faults = new EntryFaults()
  for (const [index, entry] of (list as unknown[]).entries()) {
    if (slices.isDue()) await slices.pause()
    const name = `rules[${index}]`
    faults.check(name, () => {
      const sent = sentRule(entry, name)
      const { rule } = sent
      checkSubject(rule, `${name}.`)
      const subject = subjectOfRule(rule)
      const first = places.get(subject)
      if (first !== undefined) throw repeatedSubject(rule, first, index)
      places.set(subject, index)
      checkRuleLifetime(rule, requestedAt, `${name}.expires_at`)
      if (isExpiredRule(rule, requestedAt)) expired += 1
      else lasting.push(sent)
    })
    if (faults.isFull) break
  }
  faults.throwIfAny()
  return { lasting, expired }
}

/** The answer of GET may be sent back, but not one page of several: the other rules would be deleted. */
function checkWholeList(given: Record<string, unknown>): void {
  const { uri: _, counts_since: __, next_page_uri = null, ...body } = given
  checkNames(body, ['rules'], 'list of IP policy rules')
  if (next_page_uri !== null)
    throw badRequest(
      '"next_page_uri" is not null, so "rules" is one page of several: send all rules, because PUT replaces the whole.',
    )
}

function sentRule(entry: unknown, name: string): SentRule {
  const wrong = checkEntry(entry, name)
  if (wrong !== undefined) throw badRequest(wrong)
  const members = Object.entries(entry as Record<string, unknown>)
  const isRepeated = ([member]: [string, unknown]): boolean => Object.hasOwn(shownOnly, member)
  // A rule that is about a list is shown with `list` instead of `list_id`.
  const isOwn = (member: [string, unknown]): boolean =>
    member[0] === 'list' || !(isRepeated(member) || member[0] === 'counts')
  const own = withIds(ruleFields, Object.fromEntries(members.filter(isOwn)), `${name}.`)
  return {
    rule: createValues(entryResource, own, `${name}.`) as unknown as WantedRule,
    repeated: members.some(isRepeated) ? Object.fromEntries(members.filter(isRepeated)) : undefined,
  }
}

function repeatedSubject(rule: WantedRule, first: number, second: number) {
  const [name, what] = rule.cidr === null ? ['list_id', 'list'] : ['cidr', 'CIDR']
  return conflict(
    `"rules[${second}].${name}" is "${subjectOfRule(rule)}", the same as "rules[${first}].${name}": a ${what} may occur once in a policy, whatever the action.`,
  )
}

/** Plans the replacement. A rule with the same CIDR and action keeps its id. */
export function planRules(
  caller: Caller,
  policyId: string,
  { lasting: wanted, expired }: SentRules,
  requestedAt: number,
  presenter: Presenter,
  slices: Slices,
): RulesPlan<RuleCounts> {
  const createdAt = startOfSecond(requestedAt)
  const made = wanted.map(() => rowMaker(caller.accountId, policyId, createdAt))
  return async (state, version) => {
    rowOf(state, caller.accountId, anyResource(ipPolicy), policyId)
    const present = await presentRules(state, policyId, slices)
    const show = (rule: Row) => presenter.show(anyResource(ipPolicyRule), rule, state)
    await checkRepeated(wanted, present, show, slices)
    checkLists(
      state,
      caller.accountId,
      wanted.map(({ rule }) => rule.list_id),
    )
    const draft = await draftOf(present, version, wanted, expired, made, slices)
    if (draft.isChange) {
      const rules = draft.rules as DeclaredRow<'ip_policy_rule'>[]
      await lockoutGuard(caller).check?.({ state, puts: [], removals: [], rules: { policyId, rules } })
    }
    return draft
  }
}

/** The policy's present rules by their range or list. */
async function presentRules(
  state: ViewState,
  policyId: string,
  slices: Slices,
): Promise<ReadonlyMap<string, Row>> {
  const present = new Map<string, Row>()
  for (const chunk of [...state.chunks(policyId).values()]) {
    if (slices.isDue()) await slices.pause()
    for (const rule of chunk.rules) present.set(subjectOfRule(rule), rule)
  }
  return present
}

/** Throws if an entry contradicts the rule with its id or, without an id, with its range or list. */
async function checkRepeated(
  wanted: readonly SentRule[],
  present: ReadonlyMap<string, Row>,
  show: (rule: Row) => Readonly<Record<string, unknown>>,
  slices: Slices,
): Promise<void> {
  if (wanted.every(({ repeated }) => repeated === undefined)) return
  const byId = new Map<string, Row>()
  for (const rule of present.values()) {
    if (slices.isDue()) await slices.pause()
    byId.set(rule.id, rule)
  }
  for (const [index, { rule, repeated }] of wanted.entries()) {
    if (slices.isDue()) await slices.pause()
    if (repeated === undefined) continue
    const { id } = repeated
    const there = id === undefined ? present.get(subjectOfRule(rule)) : byId.get(String(id))
    if (there === undefined) throw repeatsNothing(repeated, `rules[${index}].`)
    refuseChanged(repeated, show(there), `rules[${index}].`)
  }
}

function repeatsNothing(repeated: Readonly<Record<string, unknown>>, prefix: string) {
  const [[name, value] = ['', null]] = Object.entries(repeated)
  return badRequest(
    `${valueAt(`${prefix}${name}`, value)}, but the policy has no such rule: omit ${Object.keys(shownOnly).join(', ')} for a new one.`,
  )
}

async function draftOf(
  present: ReadonlyMap<string, Row>,
  version: number,
  wanted: readonly SentRule[],
  expired: number,
  made: readonly MakeRow[],
  slices: Slices,
): Promise<RulesDraft<RuleCounts>> {
  const counts = { added: 0, updated: 0, removed: present.size, kept: 0, expired }
  const rules: Row[] = []
  for (const [index, { rule }] of wanted.entries()) {
    if (slices.isDue()) await slices.pause()
    const there = present.get(subjectOfRule(rule))
    const same = there?.['action'] === rule.action ? there : undefined
    const isKept = same !== undefined && isAsWanted(same, rule)
    rules.push(isKept ? same : made[index]!(rule, same, version))
    if (same === undefined) counts.added += 1
    else {
      counts.removed -= 1
      counts[isKept ? 'kept' : 'updated'] += 1
    }
  }
  return { rules, isChange: counts.kept < rules.length || counts.removed > 0, result: counts }
}

/** Rows of earlier versions have no time at which they expire. */
const isAsWanted = (row: Row, { description, metadata, expires_at, enforced }: WantedRule): boolean =>
  row['description'] === description &&
  row['metadata'] === metadata &&
  (row['expires_at'] ?? null) === expires_at &&
  isEnforced(row as { enforced?: unknown }) === enforced

/**
 * Makes the row of an added or updated rule. A plan can run several times: equal input returns the same row, which is
 * then not staged again.
 */
function rowMaker(accountId: string, ip_policy_id: string, created_at: number): MakeRow {
  let id: string | undefined
  let made: { readonly row: Row; readonly from: Row | undefined } | undefined
  return (wanted, from, version) => {
    if (made?.row.version === version && made.from === from) return made.row
    if (from === undefined) id ??= newId(ipPolicyRule.idPrefix)
    // Names are never added after a spread at the start: V8 takes twenty times as long, and each row has its own shape.
    const row =
      from === undefined
        ? { id, account_id: accountId, created_at, ip_policy_id, ...wanted, version }
        : { ...from, ...wanted, version }
    made = { row: row as Row, from }
    return made.row
  }
}
