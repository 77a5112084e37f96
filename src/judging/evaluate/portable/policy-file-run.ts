/** Runs the tests of a file of policies. */
import type { GeoLookup } from '../../../delivery/record/geo.js'
import type { Explanation } from '../../../words/shape/decisions/decision.js'
import { explainPolicyTest, runPolicyTest, type TestOutcome } from '../policy-test.js'
import { accountId, compileRead } from './given-configuration.js'
import type { FileTest, PolicyFile } from './policy-file.js'

interface FileTestRun extends TestOutcome {
  readonly test: FileTest
  /** Undefined if the test passed, or could not be decided. */
  readonly explanation: Explanation | undefined
}

/** In the order of the file. */
export async function runPolicyFile(
  { configuration, tests }: PolicyFile,
  geo: GeoLookup,
): Promise<FileTestRun[]> {
  const policySet = await compileRead(configuration)
  return tests.map((test) => {
    const { given, expect } = test
    const outcome = runPolicyTest(policySet, geo, accountId, given, expect)
    const explanation = outcome.passed ? undefined : explainPolicyTest(policySet, geo, accountId, given)
    return { test, ...outcome, explanation }
  })
}
