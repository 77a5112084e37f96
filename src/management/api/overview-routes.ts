/** `GET /overview`: the state of the account at a glance; `GET /doctor`: that of the deployment, for those who may see it. */

import type { FastifyInstance } from 'fastify'
import { doctorReportSchema } from '../../words/shape/doctor.js'
import { overviewSchema } from '../../words/shape/overview.js'
import { checkAccountRight } from '../access/account-rights.js'
import { readable } from '../exchange/rows.js'
import { type ApiContext, queryOf, sendJson } from '../http/context.js'
import { describe } from '../http/openapi/openapi.js'
import type { Doctor } from '../operate/doctor/doctor.js'
import type { Overview } from '../operate/overview.js'
import { overviewTag } from './parts/tags.js'

export function registerOverview(
  app: FastifyInstance,
  context: ApiContext,
  overview: Pick<Overview, 'of'>,
): void {
  const described = describe({
    operationId: 'get_overview',
    atOnce: 'overview',
    summary: 'Get the state of the account at a glance',
    description:
      'It is read at most once a second, its expensive parts less often. A source that does not answer within some seconds is named in `unknown`; the rest is answered.',
    tag: overviewTag.name,
    path: '/overview',
    success: [200, overviewSchema],
  })
  app.get('/overview', described, async (request, reply) => {
    queryOf(request)
    // While the configuration is incomplete, nothing could be said.
    readable(context)
    return sendJson(reply, await overview.of(request.caller.accountId))
  })
}

export function registerDoctor(
  app: FastifyInstance,
  context: ApiContext,
  doctor: Pick<Doctor, 'recent'>,
): void {
  const described = describe({
    operationId: 'get_doctor',
    atOnce: 'doctor',
    summary: 'Look at the deployment, and say what is wrong',
    description:
      'Only for accounts with the right "doctor", because it is about the whole deployment, all accounts included. It changes nothing, takes up to half a minute, and asks destinations as their check does. Callers share an answer, which is at most some seconds old.',
    tag: overviewTag.name,
    path: '/doctor',
    success: [200, doctorReportSchema],
  })
  app.get('/doctor', described, async (request, reply) => {
    queryOf(request)
    checkAccountRight(readable(context), request.caller.accountId, 'doctor')
    return sendJson(reply, await doctor.recent())
  })
}
