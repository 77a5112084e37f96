/** `PUT /ip_policies/{id}/rules`: replaces all rules of an IP policy as one atomic change. */
import type { FastifyInstance } from 'fastify'
import { now } from '../core/clock.js'
import { rulesBodyBytesMax } from '../core/limits.js'
import { pluralOf } from '../core/plural.js'
import { anyResource } from '../resource/define.js'
import { ipPolicy } from '../resource/ip-policy.js'
import { ruleCountsSchema } from '../resource/rule-counts.js'
import { whileKeyLasts } from './caller.js'
import { type ApiContext, requestBody, rowAt, sendJson } from './context.js'
import { describe, routePath, writeParameters } from './openapi.js'
import { planRules, rulesBodySchema, wantedRules } from './rule-replacement.js'
import { isValidateOnly } from './write-handlers.js'

export function registerRules(app: FastifyInstance, context: ApiContext): void {
  const path = `${routePath(ipPolicy.path)}/:id/rules`
  const described = describe({
    operationId: 'put_ip_policy_rules',
    summary: 'Replace all rules of an IP policy',
    tag: pluralOf(ipPolicy.title),
    path,
    success: [200, ruleCountsSchema],
    body: rulesBodySchema,
    ...writeParameters,
  })
  app.put(path, { ...described, bodyLimit: rulesBodyBytesMax }, async (request, reply) => {
    const validateOnly = isValidateOnly(request)
    const { caller } = request
    const { store, presenter } = context
    const { id } = rowAt(context, request, anyResource(ipPolicy))
    const plan = whileKeyLasts(
      caller,
      planRules(caller, id, await wantedRules(requestBody(request)), now(), presenter),
    )
    const counts = validateOnly
      ? (await plan(await store.settled(caller.accountId), 0)).result
      : await store.replaceRules(caller.accountId, caller.principal, id, plan)
    return sendJson(reply, counts)
  })
}
