/** `POST /decide`: what Weir decides about a connection or request of the caller's account, and why. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, shown, WeirError } from '../core/errors.js'
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
import { PastPolicyReader } from './past-policies.js'

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
  const pastPolicies = new PastPolicyReader(context.store.pastRows)
  const described = describe({
    operationId: 'decide',
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
    }),
  })
  const options = { ...described, bodyLimit: recordBytesMax, config: { right: 'decide' } } as const
  app.post(path, options, async (request, reply) => {
    const revision = revisionOf(request)
    const { accountId } = request.caller
    const asked = decisionRequest(request)
    const state = readable(context)
    const past =
      revision === undefined ? undefined : await pastPolicies.at(state, accountId, revision, asked.record)
    const version = past?.version ?? state.versionOf(accountId)
    const policySet = past?.policySet ?? (await policies.of(state, accountId, revision))
    const decided = decideRecord(policySet, geo, asked, accountId)
    if (!decided.ok) throw new WeirError(decided.problem.code, decided.problem.msg)
    return sendJson(reply, await withLastChange(context, accountId, version, decided.value.answer))
  })
}

function revisionOf(request: FastifyRequest): number | undefined {
  const { revision } = queryOf(request, ['revision'])
  if (revision === undefined) return undefined
  if (/^\d{1,15}$/.test(revision)) return Number(revision)
  throw badRequest(`"revision" is ${shown(revision)}, but must be a revision: a number of at most 15 digits.`)
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
