/** `PUT /ip_policies/{id}/rules`: all rules of an IP policy replaced by others, as one change that is seen whole. */
import type { FastifyInstance } from 'fastify'
import { now } from '../core/clock.js'
import { rulesBodyBytesMax } from '../core/limits.js'
import { pluralOf } from '../core/plural.js'
import { anyResource } from '../resource/define.js'
import { ipPolicy } from '../resource/ip-policy.js'
import { ruleCountsSchema } from '../resource/rule-counts.js'
import { whileKeyLasts } from './caller.js'
import { type ApiContext, bodyOf, json, pathParams, rowAt } from './context.js'
import { describe, ofWrite, routePath } from './openapi.js'
import { planRules, rulesBodySchema, wantedRules } from './rule-replacement.js'
import { isRehearsed } from './writing.js'

export function registerRules(app: FastifyInstance, context: ApiContext): void {
  const path = `${routePath(ipPolicy.path)}/:id/rules`
  const described = describe({
    operationId: 'put_ip_policy_rules',
    summary: 'Replace all rules of an IP policy',
    tag: pluralOf(ipPolicy.title),
    path,
    success: [200, ruleCountsSchema],
    body: rulesBodySchema,
    ...ofWrite,
  })
  app.put(path, { ...described, bodyLimit: rulesBodyBytesMax }, async (request, reply) => {
    const isRehearsal = isRehearsed(request)
    const { caller } = request
    const { store, presenter } = context
    const { id } = rowAt(context, request, anyResource(ipPolicy), pathParams(request)['id'] ?? '')
    const plan = whileKeyLasts(
      caller,
      planRules(caller, id, await wantedRules(bodyOf(request)), now(), presenter),
    )
    const counts = isRehearsal
      ? (await plan(await store.settled(caller.accountId), 0)).result
      : await store.replaceRules(caller.accountId, caller.principal, id, plan)
    return reply.type(json).send(JSON.stringify(counts))
  })
}
