/** `GET /ip_policies/check`: the rules that contain an address, and who would allow or refuse it because of them. */
import type { FastifyInstance } from 'fastify'
import {
  type Address,
  canonicalAddress,
  isPeerAddress,
  parseAddress,
} from '../../../ground/core/address/ip.js'
import { badRequest, shown } from '../../../ground/core/errors.js'
import { Type } from '../../../ground/core/schema.js'
import type { Slices } from '../../../ground/core/slices.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import {
  decideAddress,
  denyRuleFor,
  type IpPolicies,
  listRuleFor,
  ruleMatches,
} from '../../../judging/evaluate/ip-policy.js'
import type { PolicySet } from '../../../judging/evaluate/policy-set.js'
import { type IpRule, isEnforced } from '../../../judging/evaluate/policy-source.js'
import { bouncer } from '../../../words/resource/bouncers/bouncer.js'
import { ipList } from '../../../words/resource/ip-list.js'
import { ipPolicy } from '../../../words/resource/ip-policy.js'
import type { AnyResource, Row } from '../../../words/resource/kind/define.js'
import { type AddressCheck, addressCheckSchema, type CheckedUse } from '../../../words/shape/address-check.js'
import type { ViewState } from '../../../words/view/view-state.js'
import { referencesIn } from '../../exchange/references.js'
import { readable } from '../../exchange/rows.js'
import { slicesOf } from '../../http/bounds/bounded-work.js'
import { queryOf, sendJson } from '../../http/context.js'
import { describe, routePath } from '../../http/openapi/openapi.js'
import type { Decider } from '../../insight/decider.js'
import type { WriteContext } from '../parts/write-context.js'
import { rowsOfUsers, useOf } from './ip-policy-uses.js'

/** Rules and uses that are listed; the others are counted. */
const rulesListedMax = 200
const usesListedMax = 1_000

const querySchema = Type.Object({
  ip: Type.String({ maxLength: 64, description: 'The address of a client.' }),
})

interface Found {
  readonly policyId: string
  readonly rule: IpRule
}

export function registerIpPolicyCheck(app: FastifyInstance, context: WriteContext, decider: Decider): void {
  const path = `${routePath(ipPolicy.path)}/check`
  const described = describe({
    operationId: 'check_address',
    atOnce: 'list_search',
    summary: 'Find who would allow or refuse an address',
    description: `The rules of IP policies that contain an address (at most ${rulesListedMax}), and the edges, routes, IP restrictions and bouncers that name IP policies or IP lists (at most ${usesListedMax}), with what these decide. Rules that have expired are left out.`,
    tag: pluralOf(ipPolicy.title),
    path,
    success: [200, addressCheckSchema],
    query: querySchema,
  })
  app.get(path, described, async (request, reply) => {
    const address = addressIn(queryOf(request, ['ip']).ip)
    const { accountId } = request.caller
    const slices = slicesOf(request)
    const state = readable(context)
    const policies = await context.policies.of(state, accountId)
    const found = await rulesFor(policies, address.parsed, slices)
    const listed = found.slice(0, rulesListedMax)
    const ids = listed.map(({ rule }) => rule.id)
    const added = await decider.rulesAdded(state, accountId, ids)
    const { uses, usesLeftOut } = await usesFor(context, accountId, policies, address.parsed)
    const check: AddressCheck = {
      ip: address.text,
      rules: listed.map(({ policyId, rule }) => ({
        ip_policy_id: policyId,
        ip_policy_description: textOf(state.rows.get(ipPolicy.kind)?.get(policyId)?.['description']),
        rule_id: rule.id,
        cidr: rule.cidr ?? policies.ipList(rule.list_id ?? '')?.rangeOf(address.parsed) ?? '',
        list_id: rule.list_id ?? null,
        list_name: listNameIn(state, rule.list_id),
        action: rule.action,
        enforced: isEnforced(rule),
        description: textOf(rule.description),
        expires_at: rule.expires_at ?? null,
        added: added.get(rule.id) ?? null,
      })),
      rules_left_out: found.length - listed.length,
      uses,
      uses_left_out: usesLeftOut,
    }
    return sendJson(reply, check)
  })
}

/** The name of a list for people: its description, else its name. */
function listNameIn(state: ViewState, id: string | null | undefined): string | null {
  const list = id == null ? undefined : state.rows.get(ipList.kind)?.get(id)
  return textOf(list?.['description']) ?? textOf(list?.['name'])
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

function addressIn(text: string | undefined): { text: string; parsed: Address } {
  if (text === undefined) throw badRequest('The query parameter "ip" is required: the address of a client.')
  if (!isPeerAddress(text))
    throw badRequest(`The query parameter "ip" is ${shown(text)}, which is no address.`)
  const canonical = canonicalAddress(text)
  return { text: canonical, parsed: parseAddress(canonical) }
}

/** Only policies whose sets contain the address are looked through. */
async function rulesFor(policies: PolicySet, address: Address, slices: Slices): Promise<Found[]> {
  const { contents } = policies
  const found: Found[] = []
  for (const policy of contents.ipPolicies.values.values()) {
    if (slices.isDue()) await slices.pause()
    const { id, rules } = policy
    const { allow, deny, allowLists, denyLists } = policy.shadow ?? policy
    const isListed = listRuleFor(policies, [...denyLists, ...allowLists], address) !== undefined
    if (!isListed && !deny.has(address) && !allow.has(address)) continue
    const ofPolicy: Found[] = []
    for (const rule of rules) {
      if (slices.isDue()) await slices.pause()
      if (ruleMatches(policies, rule, address)) ofPolicy.push({ policyId: id, rule })
    }
    found.push(...ofPolicy.toSorted((one, other) => other.rule.action.localeCompare(one.rule.action)))
  }
  return found
}

async function usesFor(
  context: WriteContext,
  accountId: string,
  policies: PolicySet,
  address: Address,
): Promise<{ uses: CheckedUse[]; usesLeftOut: number }> {
  const byDecision: Record<CheckedUse['decision'], CheckedUse[]> = { block: [], allow: [] }
  let count = 0
  for await (const [resource, row] of rowsOfUsers(context, accountId)) {
    const named = namedBy(resource, row)
    if (named === undefined) continue
    count += 1
    const verdict = verdictAt(resource, policies, named, address)
    const { decision } = verdict
    if (byDecision[decision].length === usesListedMax) continue
    byDecision[decision].push({
      ...useOf(context, resource, row, named.field),
      ...verdict,
      list_name: listNameIn(readable(context), verdict.list_id),
    })
  }
  const uses = [...byDecision.block, ...byDecision.allow].slice(0, usesListedMax)
  return { uses, usesLeftOut: count - uses.length }
}

/** A bouncer enforces deny rules and lists alone: everyone else passes it, whatever rules allow. */
function verdictAt(
  { kind }: AnyResource,
  policies: IpPolicies,
  { policyIds, listIds }: Named,
  address: Address,
): Pick<CheckedUse, 'decision' | 'rule_id' | 'list_id'> {
  if (kind !== bouncer.kind)
    return {
      decision: decideAddress(policies, policyIds, address),
      rule_id: deciderOf(policies, policyIds, address)?.id ?? null,
      list_id: null,
    }
  const rule_id = denyRuleFor(policies, policyIds, address)?.rule.id ?? null
  const banning = (id: string): boolean => policies.ipList(id)?.has(address) === true
  const list_id = rule_id === null ? (listIds.find(banning) ?? null) : null
  return { decision: rule_id === null && list_id === null ? 'allow' : 'block', rule_id, list_id }
}

interface Named {
  /** The first field that names something. */
  readonly field: string
  readonly policyIds: readonly string[]
  readonly listIds: readonly string[]
}

function namedBy({ fields }: AnyResource, row: Row): Named | undefined {
  const named = [...referencesIn(fields, row)]
  const idsOf = (wanted: string) => named.filter(({ kind }) => kind === wanted).map(({ id }) => id)
  const first = named.find(({ kind }) => kind === ipPolicy.kind || kind === ipList.kind)
  return first && { field: first.field, policyIds: idsOf(ipPolicy.kind), listIds: idsOf(ipList.kind) }
}

/** The deny rule that blocks, else the first allow rule. */
function deciderOf(policies: IpPolicies, ids: readonly string[], address: Address): IpRule | undefined {
  const blocking = denyRuleFor(policies, ids, address)?.rule
  if (blocking !== undefined) return blocking
  for (const id of ids) {
    const policy = policies.ipPolicy(id)
    const place = policy?.allow.placeOf(address)
    if (place !== undefined) return policy?.allowRules[place]
    const listed = listRuleFor(policies, policy?.allowLists ?? [], address)
    if (listed !== undefined) return listed
  }
  return undefined
}
