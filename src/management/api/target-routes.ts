/** Targets of event destinations before these are created: a test event, and the steps at the other side. */
import type { FastifyInstance } from 'fastify'
import { badRequest } from '../../ground/core/errors.js'
import { compileCheck } from '../../ground/core/schema-check.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import type { Target } from '../../words/resource/destination-target.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import { anyResource } from '../../words/resource/kind/define.js'
import {
  type TargetSetupRequest,
  targetSetupRequestSchema,
  targetSetupSchema,
} from '../../words/shape/delivery/target-setup.js'
import { targetTestSchema } from '../../words/shape/delivery/target-test.js'
import { checkNames, createValues } from '../exchange/body/input.js'
import { queryOf, requestBody, sendJson } from '../http/context.js'
import { createExample } from '../http/openapi/examples.js'
import { createSchema, describe, routePath, shownBy } from '../http/openapi/openapi.js'
import type { DestinationOperations } from '../operate/destination-operations.js'
import { setupOf } from '../operate/targets/destination-setup.js'

const destination = anyResource(eventDestination)
const tag = pluralOf(destination.title)

export function registerTargets(
  app: FastifyInstance,
  operations: Pick<DestinationOperations, 'testTarget'>,
): void {
  registerTest(app, operations)
  registerSetup(app)
}

function registerTest(app: FastifyInstance, operations: Pick<DestinationOperations, 'testTarget'>): void {
  const path = `${routePath(destination.path)}/send_test_event`
  const described = describe({
    operationId: 'send_test_event_to_target',
    atOnce: 'destination_call',
    summary: 'Send a test event to a target that is not stored',
    description:
      'Takes what creates an event destination, and sends one event of the type test.v0 where its events would go. Nothing is stored. A refusal by the other side is an answer (`result`), with its reason.',
    tag,
    path,
    body: shownBy(createSchema(destination, 'EventDestinationToTest'), createExample(destination)),
    success: [200, targetTestSchema],
  })
  app.post(path, described, async (request, reply) => {
    queryOf(request)
    const { target } = createValues(destination, requestBody(request))
    return sendJson(reply, await operations.testTarget(request.caller.accountId, target as Target))
  })
}

const checkSetup = compileCheck(targetSetupRequestSchema)

function registerSetup(app: FastifyInstance): void {
  const path = `${routePath(destination.path)}/setup`
  const described = describe({
    operationId: 'get_target_setup',
    summary: 'Get what is to be done at the other side of a target',
    description:
      'Steps for a person, with commands, policies and statements to copy that have what is filled in so far. Nothing is stored.',
    tag,
    path,
    body: targetSetupRequestSchema,
    success: [200, targetSetupSchema],
  })
  app.post(path, described, async (request, reply) => {
    queryOf(request)
    const body = requestBody(request)
    checkNames(body, Object.keys(targetSetupRequestSchema.properties), 'target setup')
    const wrong = checkSetup(body, '')
    if (wrong !== undefined) throw badRequest(wrong)
    return sendJson(reply, setupOf(request.caller.accountId, body as TargetSetupRequest))
  })
}
