/** `PUT /ip_policies/{id}/rules`: replaces all rules of an IP policy as one atomic change. */
import type { FastifyInstance } from 'fastify'
import { now } from '../../ground/core/clock.js'
import { badRequest } from '../../ground/core/errors.js'
import { rulesBodyBytesMax } from '../../ground/core/limits.js'
import { Type } from '../../ground/core/schema.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import { ipPolicy } from '../../words/resource/ip-policy.js'
import { anyResource } from '../../words/resource/kind/define.js'
import { ruleCountsSchema } from '../../words/shape/ip-policy-rules.js'
import { trialSchema } from '../../words/shape/trial.js'
import { whileKeyLasts } from '../access/caller.js'
import { slicesOf } from '../http/bounds/bounded-work.js'
import { queryOf, requestBody, rowAt, sendJson } from '../http/context.js'
import { describe, routePath } from '../http/openapi/openapi.js'
import { writeParameters } from '../http/openapi/write-parameters.js'
import { isValidateOnly, principalOf, writeParameterNames } from '../http/write-handlers.js'
import { removedRules } from '../insight/removed-parts.js'
import type { Trials } from '../insight/trials.js'
import { planRules, rulesBodySchema, wantedRules } from '../write/rule-replacement.js'
import type { WriteContext } from './parts/write-context.js'
import {
  answerTrial,
  openJob,
  rangeSince,
  testsWith,
  trialTimeParameter,
  tryParameter,
} from './trial-routes.js'

export function registerRules(app: FastifyInstance, context: WriteContext, trials: Trials): void {
  const path = `${routePath(ipPolicy.path)}/:id/rules`
  const described = describe({
    operationId: 'put_ip_policy_rules',
    summary: 'Replace all rules of an IP policy',
    tag: pluralOf(ipPolicy.title),
    path,
    success: [200, ruleCountsSchema],
    accepted: trialSchema,
    body: rulesBodySchema,
    query: Type.Object({ ...writeParameters.query.properties, try: tryParameter, time: trialTimeParameter }),
  })
  app.put(path, { ...described, bodyLimit: rulesBodyBytesMax }, async (request, reply) => {
    const validateOnly = isValidateOnly(request, ['try', 'time'])
    const { try: since, time } = queryOf(request, [...writeParameterNames, 'try', 'time'])
    if (time !== undefined && since === undefined) throw badRequest('"time" belongs to "try".')
    const { caller } = request
    const principal = principalOf(request)
    const { store, presenter } = context
    const { id } = rowAt(context, request, anyResource(ipPolicy))
    const slices = slicesOf(request)
    const requestedAt = now()
    const wanted = await wantedRules(requestBody(request), requestedAt, slices)
    const plan = whileKeyLasts(caller, planRules(caller, id, wanted, requestedAt, presenter, slices))
    if (since !== undefined) {
      if (validateOnly) throw badRequest('"try" and "validate_only" exclude each other: send one of them.')
      const state = await store.settled(caller.accountId)
      const { rules } = await plan(state, 0)
      const removes = await removedRules(state, id, rules, slices)
      const job = {
        ...openJob(context, caller, rangeSince('try', since, time, trials.retentionMs)),
        rows: [],
        policyId: id,
      }
      const draftOf = { kind: ipPolicy.kind, id, part: 'rules' }
      const tests = await testsWith(context, caller, { rules: { policyId: id, rules } })
      const trial = await trials.start({ draftOf, job, removes, tests, large: { rules: rules as never } })
      return answerTrial(context, reply, trial)
    }
    const counts = validateOnly
      ? await store.rehearsals.ofRules(caller.accountId, principal, id, plan)
      : await store.replaceRules(caller.accountId, principal, id, plan, request.work?.signal)
    return sendJson(reply, counts)
  })
}
