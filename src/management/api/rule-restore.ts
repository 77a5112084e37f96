/** `POST /ip_policies/{id}/rules/restore?version=`: all rules of an IP policy are put back as one atomic change. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { now } from '../../ground/core/clock.js'
import { Turns } from '../../ground/core/concurrency.js'
import { pastExplanationsAtOnceMax, pastExplanationsWaitingMax } from '../../ground/core/limits.js'
import type { Slices } from '../../ground/core/slices.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import { isEnforced } from '../../judging/evaluate/policy-source.js'
import { ipPolicy, isExpiredRule } from '../../words/resource/ip-policy.js'
import { anyResource, type Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { type RuleCounts, ruleCountsSchema } from '../../words/shape/ip-policy-rules.js'
import { type Caller, whileKeyLasts } from '../access/caller.js'
import { lockoutGuard } from '../access/lockout-guard.js'
import { rowOf } from '../exchange/rows.js'
import { slicesOf } from '../http/bounds/bounded-work.js'
import { rowAt, sendJson } from '../http/context.js'
import { describe, routePath } from '../http/openapi/openapi.js'
import { idempotencyHeaders } from '../http/openapi/write-parameters.js'
import { actionHandler, isValidateOnly, principalOf, writeParameterNames } from '../http/write-handlers.js'
import { withOutcomeOf } from '../store/change/outcome.js'
import type { RulesPlan } from '../store/change/plan.js'
import { checkLists } from '../write/row-relations.js'
import type { WriteContext } from './parts/write-context.js'
import { pastRow, restoreQuery, versionAsked } from './restore-routes.js'

type Rule = DeclaredRow<'ip_policy_rule'>

const resource = anyResource(ipPolicy)
/** There may be very many rules. */
const reading = new Turns(pastExplanationsAtOnceMax, pastExplanationsWaitingMax)

export function registerRuleRestore(app: FastifyInstance, context: WriteContext): void {
  const path = `${routePath(ipPolicy.path)}/:id/rules/restore`
  const described = describe({
    operationId: 'restore_ip_policy_rules',
    atOnce: 'rules_restore',
    summary: 'Restore all rules of an IP policy',
    description:
      'Replaces the rules by those of that version, with their ids, also if the policy or its rules were deleted since. Rules that have expired since are left out and counted. A deleted policy is restored first.',
    tag: pluralOf(ipPolicy.title),
    path,
    success: [200, ruleCountsSchema],
    query: restoreQuery,
    headers: idempotencyHeaders,
  })
  const restore = async (request: FastifyRequest, validateOnly: boolean) => ({
    status: 200 as const,
    body: await reading.take(() => restoreRules(context, request, validateOnly)),
  })
  const act = actionHandler(context, (request) => withOutcomeOf(() => restore(request, false)), [
    'version',
    ...writeParameterNames,
  ])
  app.post(path, described, async (request, reply) =>
    isValidateOnly(request, ['version'])
      ? sendJson(reply, (await restore(request, true)).body)
      : act(request, reply),
  )
}

async function restoreRules(
  context: WriteContext,
  request: FastifyRequest,
  validateOnly: boolean,
): Promise<RuleCounts> {
  const { store } = context
  const { caller } = request
  const { accountId } = caller
  const { id } = rowAt(context, request, resource)
  await pastRow(context, request, resource)
  const version = versionAsked(request)
  const past = await store.pastRows.at(accountId, version, 'ip_policy_rule', 'ip_policy_id', [id])
  const plan = whileKeyLasts(caller, planRestored(caller, id, past, now(), slicesOf(request)))
  const principal = principalOf(request)
  if (validateOnly) return store.rehearsals.ofRules(accountId, principal, id, plan)
  return store.replaceRules(accountId, principal, id, plan, request.work?.signal)
}

/** A rule that is as it was is kept; one that has expired since is left out. */
const planRestored =
  (
    caller: Caller,
    policyId: string,
    past: readonly Rule[],
    requestedAt: number,
    slices: Slices,
  ): RulesPlan<RuleCounts> =>
  async (state, version) => {
    rowOf(state, caller.accountId, resource, policyId)
    const present = new Map<string, Row>()
    for (const chunk of state.chunks(policyId).values())
      for (const rule of chunk.rules) present.set(rule.id, rule)
    const counts = { added: 0, updated: 0, removed: present.size, kept: 0, expired: 0 }
    const rules: Row[] = []
    for (const rule of past) {
      if (slices.isDue()) await slices.pause()
      if (isExpiredRule(rule, requestedAt)) {
        counts.expired += 1
        continue
      }
      const there = present.get(rule.id)
      const isKept = there !== undefined && isSame(there, rule)
      rules.push(isKept ? there : { ...rule, version })
      if (there !== undefined) counts.removed -= 1
      counts[there === undefined ? 'added' : isKept ? 'kept' : 'updated'] += 1
    }
    checkLists(
      state,
      caller.accountId,
      rules.map((rule) => rule['list_id'] as string | null),
      (index) => `list_id of the rule ${rules[index]!.id}`,
    )
    await lockoutGuard(caller).check?.({ state, puts: [], removals: [], rules: { policyId, rules } })
    return { rules, isChange: counts.kept < rules.length || counts.removed > 0, result: counts }
  }

const isSame = (row: Row, rule: Rule): boolean =>
  (['cidr', 'action', 'description', 'metadata', 'expires_at'] as const).every(
    (name) => (row[name] ?? null) === (rule[name] ?? null),
  ) && isEnforced(row as { enforced?: unknown }) === isEnforced(rule)
