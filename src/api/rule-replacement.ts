/** What replacing all rules of an IP policy changes: which of them are new, other ones, or as they were. */
import { badRequest, conflict } from '../core/errors.js'
import { newId } from '../core/ids.js'
import { rulesBodyBytesMax, rulesPerIpPolicyMax } from '../core/limits.js'
import { compileCheck, Type } from '../core/schema.js'
import { Slices } from '../core/slices.js'
import type { IpRule } from '../evaluate/configuration.js'
import { type AnyResource, anyResource, type Row } from '../resource/define.js'
import { bodySchema } from '../resource/fields.js'
import { ipPolicy, ipPolicyRule } from '../resource/ip-policy.js'
import type { RuleCounts } from '../resource/rule-counts.js'
import type { RulesDraft, RulesPlan } from '../store/plan.js'
import type { ViewState } from '../store/view-state.js'
import type { Caller } from './caller.js'
import { rowOf } from './context.js'
import { checkNames, createValues } from './input.js'
import { lockoutCheck } from './lockout.js'

/** A rule as the body has it: without the policy, which the path names. */
const { ip_policy_id: _ofPath, ...ruleFields } = ipPolicyRule.fields
const entryResource: AnyResource = anyResource({ ...ipPolicyRule, fields: ruleFields } as typeof ipPolicyRule)

export const rulesBodySchema = Type.Object(
  {
    rules: Type.Array(bodySchema(ruleFields, { title: 'IpPolicyRuleInput' }), {
      maxItems: rulesPerIpPolicyMax,
    }),
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

/** A rule that the body asks for, every field of it. */
export interface WantedRule {
  readonly cidr: string
  readonly action: string
  readonly description: string | null
  readonly metadata: string | null
}

const checkList = compileCheck(Type.Array(Type.Unknown(), { maxItems: rulesPerIpPolicyMax }))
const checkEntry = compileCheck(Type.Object({}))

/** The rules of a body, checked in slices: others have their turn meanwhile. */
export async function wantedRules(body: Record<string, unknown>): Promise<WantedRule[]> {
  checkNames(body, ['rules'], 'list of IP policy rules')
  const list = body['rules']
  if (list === undefined) throw badRequest('"rules" is required for a list of IP policy rules.')
  const wrong = checkList(list, 'rules')
  if (wrong !== undefined) throw badRequest(wrong)
  const slices = new Slices()
  const rules: WantedRule[] = []
  const places = new Map<string, number>()
  for (const [at, entry] of (list as unknown[]).entries()) {
    if (slices.isDue()) await slices.pause()
    const rule = wantedRule(entry, `rules[${at}]`)
    const first = places.get(rule.cidr)
    if (first !== undefined) throw repeated(rule.cidr, first, at)
    places.set(rule.cidr, at)
    rules.push(rule)
  }
  return rules
}

function wantedRule(entry: unknown, name: string): WantedRule {
  const wrong = checkEntry(entry, name)
  if (wrong !== undefined) throw badRequest(wrong)
  return createValues(entryResource, entry as Record<string, unknown>, `${name}.`) as unknown as WantedRule
}

const repeated = (cidr: string, first: number, second: number) =>
  conflict(
    `"rules[${second}].cidr" is "${cidr}", which "rules[${first}].cidr" is, too: a CIDR may stand in a policy once, whatever the action.`,
  )

/** Replaces the policy's rules. A rule with the same CIDR and action stays the same one, under the same id. */
export function planRules(
  caller: Caller,
  policyId: string,
  wanted: readonly WantedRule[],
  requestedAt: number,
): RulesPlan<RuleCounts> {
  const made = wanted.map(() => new MadeRule(caller.accountId, policyId, requestedAt))
  return async (state, version) => {
    rowOf(state, caller.accountId, anyResource(ipPolicy), policyId)
    const draft = await draftOf(state, policyId, version, wanted, made)
    if (draft.isChange) {
      lockoutCheck(caller, state, { rules: new Map([[policyId, draft.rules as unknown as IpRule[]]]) })
    }
    return draft
  }
}

async function draftOf(
  state: ViewState,
  policyId: string,
  version: number,
  wanted: readonly WantedRule[],
  made: readonly MadeRule[],
): Promise<RulesDraft<RuleCounts>> {
  const chunks = [...state.chunks(policyId).values()]
  const slices = new Slices()
  const present = new Map<string, Row>()
  for (const chunk of chunks) {
    if (slices.isDue()) await slices.pause()
    for (const rule of chunk.rules) present.set(String(rule['cidr']), rule)
  }
  const counts = { added: 0, updated: 0, removed: present.size, kept: 0 }
  const rules: Row[] = []
  for (const [at, rule] of wanted.entries()) {
    if (slices.isDue()) await slices.pause()
    const there = present.get(rule.cidr)
    const same = there?.['action'] === rule.action ? there : undefined
    const isKept = same !== undefined && isAsWanted(same, rule)
    rules.push(isKept ? same : made[at]!.row(rule, same, version))
    if (same === undefined) counts.added += 1
    else {
      counts.removed -= 1
      counts[isKept ? 'kept' : 'updated'] += 1
    }
  }
  return { rules, isChange: counts.kept < rules.length || counts.removed > 0, result: counts }
}

const isAsWanted = (row: Row, { description, metadata }: WantedRule): boolean =>
  row['description'] === description && row['metadata'] === metadata

/** The row of a rule that is not as it was; the same one each time it is asked for with the same. */
class MadeRule {
  readonly #accountId: string
  readonly #policyId: string
  readonly #createdAt: number
  #id: string | undefined
  #from: Row | undefined
  #row: Row | undefined

  constructor(accountId: string, policyId: string, at: number) {
    this.#accountId = accountId
    this.#policyId = policyId
    this.#createdAt = Math.floor(at / 1000) * 1000
  }

  row(wanted: WantedRule, from: Row | undefined, version: number): Row {
    if (this.#row?.version === version && this.#from === from) return this.#row
    this.#from = from
    this.#row = from === undefined ? this.#added(wanted, version) : { ...from, ...wanted, version }
    return this.#row
  }

  #added(wanted: WantedRule, version: number): Row {
    this.#id ??= newId(ipPolicyRule.idPrefix)
    return {
      id: this.#id,
      account_id: this.#accountId,
      created_at: this.#createdAt,
      ip_policy_id: this.#policyId,
      ...wanted,
      version,
    }
  }
}
