/** `POST /policy_tests/run`: runs policy tests against the present configuration. */
import type { FastifyInstance } from 'fastify'
import { pluralOf } from '../core/text/plural.js'
import { checkOf, schemaRefusal } from '../http/body/schema-faults.js'
import { queryOf, readable, requestBody, sendJson } from '../http/context.js'
import { describe, routePath } from '../http/openapi/openapi.js'
import { policyTest } from '../resource/policy-test.js'
import {
  type PolicyTestRuns,
  type PolicyTestsToRun,
  policyTestRunBodySchema,
  policyTestRunsSchema,
} from '../shape/policy-test-run.js'
import type { RunTest } from '../write/policy-tests.js'
import type { WriteContext } from './write-context.js'

export function registerPolicyTestRuns(app: FastifyInstance, context: WriteContext): void {
  const path = `${routePath(policyTest.path)}/run`
  const described = describe({
    operationId: 'run_policy_tests',
    summary: 'Run policy tests against the present configuration',
    description: 'Nothing is stored or changed.',
    tag: pluralOf(policyTest.title),
    path,
    success: [200, policyTestRunsSchema],
    body: policyTestRunBodySchema,
  })
  app.post(path, described, async (request, reply) => {
    queryOf(request)
    const body = requestBody(request)
    const wrong = checkOf(policyTestRunBodySchema)(body, '')
    if (wrong !== undefined) throw schemaRefusal(wrong, policyTestRunBodySchema, body, '')
    const { tests } = body as PolicyTestsToRun
    const runs = await context.policyTests.run(
      readable(context),
      request.caller.accountId,
      tests ?? undefined,
    )
    return sendJson(reply, shownRuns(runs))
  })
}

/** Those that failed come first. */
export function shownRuns(runs: readonly RunTest[]): PolicyTestRuns {
  const failed = runs.filter(({ outcome }) => !outcome.passed)
  const passed = runs.filter(({ outcome }) => outcome.passed)
  return { passed: passed.length, failed: failed.length, tests: [...failed, ...passed].map(shownRun) }
}

const shownRun = ({ test, outcome, explanation }: RunTest): PolicyTestRuns['tests'][number] => ({
  policy_test_id: test.id ?? null,
  description: test.description ?? null,
  passed: outcome.passed,
  expect: test.expect,
  decision: outcome.decision,
  decided_by: outcome.decidedBy,
  problem: outcome.problem,
  explanation: explanation ?? null,
})
