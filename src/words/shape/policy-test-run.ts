/** The result of policy tests that were run. */

import { policyTestsPerAccountMax } from '../../ground/core/limits.js'
import { objectOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'
import { expectSchema, givenSchema } from '../resource/policy-test.js'
import { accountDraftSchema } from './account-draft.js'
import { decidedBySchema, decisionWord, explanationSchema } from './decisions/decision.js'

const descriptionCharsMax = 255

const nullable = orNull(Type.String())

const testRun = objectOf(
  {
    policy_test_id: orNull(Type.String(), { description: 'Null for a test that is not stored.' }),
    description: nullable,
    passed: Type.Boolean(),
    expect: expectSchema,
    decision: orNull(decisionWord, {
      description: 'Null if there is none: see `problem`.',
    }),
    decided_by: orNull(decidedBySchema, {
      description: 'What decided; null if the test says nothing about it and passed.',
    }),
    shadow: orNull(
      objectOf({ decision: decisionWord, decided_by: decidedBySchema }, { title: 'PolicyTestShadow' }),
      {
        description:
          'What would be decided if everything were enforced, and by what; null if the test says nothing about it.',
      },
    ),
    problem: orNull(Type.String(), { description: 'Why nothing could be decided.' }),
    explanation: orNull(explanationSchema, { description: 'Of the first ten tests that failed; else null.' }),
  },
  { title: 'PolicyTestRun' },
)

export const policyTestRunsSchema = objectOf(
  {
    passed: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0 }),
    tests: Type.Array(testRun, { description: 'Those that failed come first.' }),
  },
  {
    title: 'PolicyTestRuns',
    description: 'Policy tests, run against a configuration.',
    examples: [
      {
        passed: 1,
        failed: 0,
        tests: [
          {
            policy_test_id: exampleId('ptest_'),
            description: 'the office reaches the status page',
            passed: true,
            expect: { decision: 'allow' },
            decision: 'allow',
            decided_by: null,
            shadow: null,
            problem: null,
            explanation: null,
          },
        ],
      },
    ],
  },
)

export const policyTestRunBodySchema = objectOf(
  {
    tests: Type.Optional(
      orNull(
        Type.Array(
          objectOf(
            {
              description: Type.Optional(orNull(Type.String({ maxLength: descriptionCharsMax }))),
              given: givenSchema,
              expect: expectSchema,
            },
            { title: 'PolicyTestDraft' },
          ),
          { maxItems: policyTestsPerAccountMax },
        ),
        { description: 'Tests to run without storing them. Without it, all of the account are run.' },
      ),
    ),
    draft: Type.Optional(
      orNull(accountDraftSchema, {
        description: 'Run against the configuration as this draft would leave it. Default: as it is.',
      }),
    ),
  },
  { title: 'PolicyTestsToRun', examples: [{}] },
)

export type PolicyTestRuns = Static<typeof policyTestRunsSchema>
export type PolicyTestsToRun = Static<typeof policyTestRunBodySchema>
