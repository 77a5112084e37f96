/** `POST /decide`: what Weir decides about a connection or request of the caller's account, and why. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type DecisionRequest, parseDecisionRequest } from '../../delivery/record/record.js'
import { recordSchemas } from '../../delivery/record/record-schemas.js'
import { badRequest, shown } from '../../ground/core/errors.js'
import { recordBytesMax } from '../../ground/core/limits.js'
import { oneOf, type TSchema, Type } from '../../ground/core/schema.js'
import { unservedIn, unservedWords } from '../../judging/evaluate/unserved.js'
import { componentName } from '../../words/resource/fields/id-schema.js'
import { decisionSchema } from '../../words/shape/decisions/decision.js'
import { readable } from '../exchange/rows.js'
import { type ApiContext, queryOf, requestBody, sendJson } from '../http/context.js'
import { describe, shownBy } from '../http/openapi/openapi.js'
import type { Decider } from '../insight/decider.js'
import { decisionsTag } from './parts/tags.js'

const explain = Type.Boolean({
  default: true,
  description: 'false: the answer has no `explanation`.',
})

/** The schema of a record whose id may be missing. */
const requestSchema = ({ type, schema }: (typeof recordSchemas)[number]): TSchema => {
  const { properties, required } = schema as unknown as Record<'properties', object> & { required: string[] }
  return {
    ...schema,
    title: `${componentName(type)}Decision`,
    required: required.filter((name) => name !== 'record_id'),
    properties: { ...properties, explain },
  } as TSchema
}

/** Members that both schemas have are repeated here, because tools look here. */
const unionSchema = {
  type: 'object',
  required: ['type', 'conn'],
  anyOf: recordSchemas.map(requestSchema),
} as TSchema

const bodySchema = shownBy(unionSchema, {
  type: 'tcp_connection',
  conn: { client_ip: '203.0.113.66', server_name: 'ssh.example.com', server_port: 22 },
})

const path = '/decide'

export function registerDecisions(app: FastifyInstance, context: ApiContext, decider: Decider): void {
  const described = describe({
    operationId: 'decide',
    atOnce: 'past_decision',
    summary: 'Decide about a connection or request, and explain why',
    tag: decisionsTag.name,
    path,
    success: [200, decisionSchema],
    body: bodySchema,
    query: Type.Object({
      revision: Type.Optional(
        Type.Integer({
          minimum: 0,
          description:
            'Decides with the configuration as it was at this revision, as answers and events name it.',
        }),
      ),
      unserved: Type.Optional(
        oneOf(
          unservedWords,
          'What is decided about a name that no edge of the account serves, if no restriction blocks it. Default: deny, unless an operator gave the account the right `unserved_allowed`.',
        ),
      ),
    }),
  })
  app.post(path, { ...described, bodyLimit: recordBytesMax }, async (request, reply) => {
    const moment = momentOf(request)
    const { accountId } = request.caller
    const asked = decisionRequest(request)
    const { answer } = await decider.decide(readable(context), accountId, asked, moment)
    return sendJson(reply, answer)
  })
}

function momentOf(request: FastifyRequest) {
  const { revision, unserved } = queryOf(request, ['revision', 'unserved'])
  return { revision: revisionIn(revision), unserved: unservedIn(unserved) }
}

function revisionIn(revision: string | undefined): number | undefined {
  if (revision === undefined) return undefined
  if (/^\d{1,15}$/.test(revision)) return Number(revision)
  throw badRequest(`"revision" is ${shown(revision)}, but must be a revision: a number of at most 15 digits.`)
}

/** Reads the body as a record. The decision is explained unless the client asks for no explanation. */
function decisionRequest(request: FastifyRequest): DecisionRequest {
  const body = requestBody(request)
  const parsed = parseDecisionRequest({ ...body, explain: body['explain'] ?? true })
  if (!parsed.ok) throw badRequest(parsed.problem.msg)
  return parsed.value
}
