/** `POST /tries`: a draft of many resources of an account at once, tried on recorded traffic. */
import type { FastifyInstance } from 'fastify'
import { rulesBodyBytesMax } from '../../ground/core/limits.js'
import { Type } from '../../ground/core/schema.js'
import { readAccountDraft } from '../../judging/evaluate/portable/account-draft.js'
import { accountDraftSchema } from '../../words/shape/account-draft.js'
import { trialSchema } from '../../words/shape/trial.js'
import { accountSource } from '../access/account-source.js'
import { readable } from '../exchange/rows.js'
import { slicesOf } from '../http/bounds/bounded-work.js'
import { queryOf, requestBody } from '../http/context.js'
import { describe, trialsPath } from '../http/openapi/openapi.js'
import type { Trials } from '../insight/trials.js'
import { trialsTag } from './parts/tags.js'
import type { WriteContext } from './parts/write-context.js'
import {
  answerTrial,
  failedOnes,
  openJob,
  rangeSince,
  sinceParameter,
  trialTimeParameter,
} from './trial-routes.js'

export function registerAccountTrials(app: FastifyInstance, context: WriteContext, trials: Trials): void {
  const described = describe({
    operationId: 'try_account',
    summary: 'Try a draft of many resources at once',
    description: 'The result says who loses and who gains access.',
    atOnce: 'draft',
    tag: trialsTag.name,
    path: trialsPath,
    success: [202, trialSchema],
    query: Type.Object({ since: sinceParameter, time: trialTimeParameter }),
    body: accountDraftSchema,
  })
  app.post(trialsPath, { ...described, bodyLimit: rulesBodyBytesMax }, async (request, reply) => {
    const { since, time } = queryOf(request, ['since', 'time'])
    const { caller } = request
    const { accountId } = caller
    const range = rangeSince('since', since, time, trials.retentionMs)
    const state = readable(context)
    const source = accountSource(state, accountId)
    const account = await slicesOf(request).run(readAccountDraft(requestBody(request), source))
    const runs = await context.policyTests.run(state, accountId, undefined, account)
    const trial = await trials.start({
      draftOf: { kind: 'account', id: null, part: null },
      job: { ...openJob(context, caller, range), rows: [] },
      removes: account.removes,
      tests: failedOnes(runs),
      large: { account },
    })
    return answerTrial(context, reply, trial)
  })
}
