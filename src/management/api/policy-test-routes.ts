/** Operations of policy tests besides those of any kind: to run them, and to see what they reach. */
import type { FastifyInstance } from 'fastify'
import type { GeoLookup } from '../../delivery/record/geo.js'
import { now } from '../../ground/core/clock.js'
import { rulesBodyBytesMax } from '../../ground/core/limits.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import { readAccountDraft } from '../../judging/evaluate/portable/account-draft.js'
import { policyTest } from '../../words/resource/policy-test.js'
import { coveredTrafficDays, policyTestCoverageSchema } from '../../words/shape/policy-test-coverage.js'
import {
  type PolicyTestRuns,
  type PolicyTestsToRun,
  policyTestRunBodySchema,
  policyTestRunsSchema,
} from '../../words/shape/policy-test-run.js'
import { accountSource } from '../access/account-source.js'
import { checkOf, schemaRefusal } from '../exchange/body/schema-faults.js'
import { readable } from '../exchange/rows.js'
import { slicesOf } from '../http/bounds/bounded-work.js'
import { queryOf, requestBody, sendJson } from '../http/context.js'
import { describe, routePath } from '../http/openapi/openapi.js'
import type { LogReader } from '../store/logs/log-reader.js'
import { coverageOf } from '../write/policy-test-coverage.js'
import type { RunTest } from '../write/policy-tests.js'
import type { WriteContext } from './parts/write-context.js'

interface CoverageParts {
  readonly geo: GeoLookup
  readonly log: Pick<LogReader, 'reached' | 'mode'>
}

/** `GET /policy_tests/coverage`: what no test reaches, and what no traffic reached. */
export function registerPolicyTestCoverage(
  app: FastifyInstance,
  context: WriteContext,
  { geo, log }: CoverageParts,
): void {
  const path = `${routePath(policyTest.path)}/coverage`
  const described = describe({
    operationId: 'get_policy_test_coverage',
    atOnce: 'log_search',
    summary: 'Get what policy tests reach, and what traffic reached',
    description: `Without a decision log, nothing is known of traffic; else as far as it has the last ${coveredTrafficDays} days.`,
    tag: pluralOf(policyTest.title),
    path,
    success: [200, policyTestCoverageSchema],
  })
  app.get(path, described, async (request, reply) => {
    queryOf(request)
    const { accountId } = request.caller
    const sinceMs = now() - coveredTrafficDays * 24 * 60 * 60_000
    const reached = log.mode === 'off' ? undefined : await log.reached(accountId, sinceMs)
    const traffic = reached && { edges: reached.edge, policies: reached.policy, rules: reached.rule }
    const state = readable(context)
    const policySet = await context.policies.of(state, accountId)
    return sendJson(reply, await coverageOf(state, accountId, policySet, geo, traffic))
  })
}

export function registerPolicyTestRuns(app: FastifyInstance, context: WriteContext): void {
  const path = `${routePath(policyTest.path)}/run`
  const described = describe({
    operationId: 'run_policy_tests',
    summary: 'Run policy tests against the present configuration, or a draft',
    description: 'Nothing is stored or changed.',
    tag: pluralOf(policyTest.title),
    path,
    success: [200, policyTestRunsSchema],
    body: policyTestRunBodySchema,
  })
  app.post(path, { ...described, bodyLimit: rulesBodyBytesMax }, async (request, reply) => {
    queryOf(request)
    const body = requestBody(request)
    const wrong = checkOf(policyTestRunBodySchema)(body, '')
    if (wrong !== undefined) throw schemaRefusal(wrong, policyTestRunBodySchema, body, '')
    const { tests, draft } = body as PolicyTestsToRun
    const state = readable(context)
    const { accountId } = request.caller
    const source = accountSource(state, accountId)
    const drafted = draft ? await slicesOf(request).run(readAccountDraft(draft, source)) : undefined
    const runs = await context.policyTests.run(state, accountId, tests ?? undefined, drafted)
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
  shadow: outcome.shadow,
  problem: outcome.problem,
  explanation: explanation ?? null,
})
