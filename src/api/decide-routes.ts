/** `POST /decide`: what Weir decides about a connection or request of the caller's account, and why. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, WeirError } from '../core/errors.js'
import { recordBytesMax } from '../core/limits.js'
import { type TSchema, Type } from '../core/schema.js'
import { decideRecord } from '../evaluate/decide.js'
import type { GeoLookup } from '../record/geo.js'
import { type DecisionRequest, parseDecisionRequest } from '../record/record.js'
import { recordSchemas } from '../record/record-schemas.js'
import { componentName } from '../resource/component-name.js'
import { type Decision, decisionSchema, type LastChange } from '../resource/decision.js'
import { resources } from '../resource/registry.js'
import { AccountPolicies } from './account-policies.js'
import { type ApiContext, queryOf, readable, requestBody, sendJson } from './context.js'
import { describe, shownBy } from './openapi.js'

export const decisionsTag = {
  name: 'decisions',
  description:
    'What Weir decides about a connection or request before it is let in, and why. No event is made.',
}

const explain = Type.Boolean({
  default: true,
  description: 'false: the answer has no `explanation`.',
})

/** The schema of a record, of which only the id may be missing. */
const requestSchema = ({ type, schema }: (typeof recordSchemas)[number]): TSchema => {
  const { properties, required } = schema as unknown as Record<'properties', object> & { required: string[] }
  return {
    ...schema,
    title: `${componentName(type)}Decision`,
    required: required.filter((name) => name !== 'record_id'),
    properties: { ...properties, explain },
  } as TSchema
}

/** What both have in common is named once more, as tools look there. */
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

export function registerDecisions(app: FastifyInstance, context: ApiContext, geo: GeoLookup): void {
  const policies = new AccountPolicies()
  const described = describe({
    operationId: 'decide',
    summary: 'Decide about a connection or request, and explain why',
    tag: decisionsTag.name,
    path,
    success: [200, decisionSchema],
    body: bodySchema,
  })
  app.post(path, { ...described, bodyLimit: recordBytesMax }, async (request, reply) => {
    queryOf(request)
    const { accountId } = request.caller
    const asked = decisionRequest(request)
    const policySet = await policies.of(readable(context), accountId)
    const decided = decideRecord(policySet, geo, asked, accountId)
    if (!decided.ok) throw new WeirError(decided.problem.code, decided.problem.msg)
    const version = readable(context).versionOf(accountId)
    return sendJson(reply, await withLastChange(context, accountId, version, decided.value.answer))
  })
}

/** The record that the body is. Explained unless the client does not want that. */
function decisionRequest(request: FastifyRequest): DecisionRequest {
  const body = requestBody(request)
  const parsed = parseDecisionRequest({ ...body, explain: body['explain'] ?? true })
  if (!parsed.ok) throw badRequest(parsed.problem.msg)
  return parsed.value
}

/** Adds who changed last what decided. */
async function withLastChange(
  { store }: ApiContext,
  accountId: string,
  version: number,
  answer: Decision,
): Promise<Decision> {
  const { explanation } = answer
  if (explanation === undefined) return answer
  const { rule_id, id } = explanation.decided_by
  const last_change = await lastChangeOf(rule_id ?? id, (kind, deciding) =>
    store.pastRows.lastChange(accountId, kind, deciding, version),
  )
  return {
    ...answer,
    explanation: { ...explanation, decided_by: { ...explanation.decided_by, last_change } },
  }
}

async function lastChangeOf(
  id: string | null,
  read: (kind: string, id: string) => Promise<LastChange | undefined>,
): Promise<LastChange | null> {
  const resource = resources.find(({ idPrefix }) => id?.startsWith(idPrefix))
  return resource === undefined || id === null ? null : ((await read(resource.kind, id)) ?? null)
}
