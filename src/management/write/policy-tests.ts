/**
 * Policy tests of an account: run against a configuration, and before each write that can change a decision.
 *
 * The check is a part of the write: it sees the state that the write was planned with, in the account's turn, and the
 * commit fails if another process was first. So two writes at once can't break together what each keeps alone.
 */
import { isDeepStrictEqual } from 'node:util'
import type { GeoLookup } from '../../delivery/record/geo.js'
import { yieldTurn } from '../../ground/core/clock.js'
import { WeirError } from '../../ground/core/errors.js'
import { Slices } from '../../ground/core/slices.js'
import { decisionInWords } from '../../ground/core/text/part-in-words.js'
import type { PolicySet } from '../../judging/evaluate/policy-set.js'
import { explainPolicyTest, runPolicyTest, type TestOutcome } from '../../judging/evaluate/policy-test.js'
import type { AccountDraft } from '../../judging/evaluate/portable/account-draft.js'
import type { Row } from '../../words/resource/kind/define.js'
import { policyTest } from '../../words/resource/policy-test.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import type { Explanation } from '../../words/shape/decisions/decision.js'
import { policyKind, ruleKind } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { AccountPolicies } from '../access/account-policies.js'
import { rowsOf } from '../exchange/rows.js'
import type { VerifiedWrite } from '../store/verify.js'

/** Kinds whose rows have a part in decisions. */
const decidingKinds: ReadonlySet<string> = new Set([
  'tcp_edge',
  'https_edge',
  'https_edge_route',
  policyKind,
  ruleKind,
  'ip_restriction',
  'ip_list',
  'reserved_addr',
])

/** Failed tests that an error describes. */
const describedFailuresMax = 10
/** A text in the details of an error. */
const detailCharsMax = 16 * 1024

type PolicyTest = Pick<DeclaredRow<'policy_test'>, 'given' | 'expect'> & {
  /** Undefined if it is not stored. */
  readonly id?: string | undefined
  readonly description?: string | null
}

export interface RunTest {
  readonly test: PolicyTest
  readonly outcome: TestOutcome
  /** Undefined if the test passed, or too many failed before it. */
  readonly explanation: Explanation | undefined
}

interface PolicyTestsOptions {
  readonly policies: AccountPolicies
  readonly geo: GeoLookup
}

export class PolicyTests {
  readonly #options: PolicyTestsOptions

  constructor(options: PolicyTestsOptions) {
    this.#options = options
  }

  /**
   * Runs tests against the account's present configuration, or as a draft would leave it; those of the account if none are
   * given.
   */
  async run(
    state: ViewState,
    accountId: string,
    tests?: readonly PolicyTest[],
    draft?: AccountDraft,
  ): Promise<RunTest[]> {
    const { policies } = this.#options
    const policySet = await (draft === undefined
      ? policies.of(state, accountId)
      : policies.drafted(state, accountId, draft))
    return this.#runAll(policySet, accountId, tests ?? [...testsIn(state, accountId)])
  }

  /** Runs the tests that concern a write, as it would leave the account; none if it can't change a decision. */
  async runAfter(write: VerifiedWrite): Promise<RunTest[]> {
    const { accountId, base, state } = write
    const tests = testsAfter(write)
    if (tests.length === 0) return []
    const policySet = await this.#options.policies.after(base, state, accountId, write)
    return this.#runAll(policySet, accountId, tests)
  }

  /** Rejects with a `WeirError` that names the tests that would fail. */
  async verify(write: VerifiedWrite): Promise<void> {
    // A rule that has expired decides nothing any more, so its deletion makes no test fail.
    if (write.principal.skipsTests || write.principal.source === 'EXPIRY') return
    const failed = (await this.runAfter(write)).filter(({ outcome }) => !outcome.passed)
    if (failed.length > 0) throw refusal(failed)
  }

  async #runAll(policySet: PolicySet, accountId: string, tests: readonly PolicyTest[]): Promise<RunTest[]> {
    const { geo } = this.#options
    const slices = new Slices({ letOthers: yieldTurn })
    const runs: RunTest[] = []
    let explained = 0
    for (const test of tests) {
      if (slices.isDue()) await slices.pause()
      const outcome = runPolicyTest(policySet, geo, accountId, test.given, test.expect)
      const isExplained = !outcome.passed && explained < describedFailuresMax
      if (isExplained) explained += 1
      const explanation = isExplained ? explainPolicyTest(policySet, geo, accountId, test.given) : undefined
      runs.push({ test, outcome, explanation })
    }
    return runs
  }
}

function* testsIn(state: ViewState, accountId: string): Iterable<DeclaredRow<'policy_test'>> {
  for (const row of rowsOf(state, accountId, policyTest.kind)) yield row as DeclaredRow<'policy_test'>
}

/** The row of an IP policy decides nothing, because its rules do; neither do descriptions and metadata. */
function mayDecide({ kind, row }: VerifiedWrite['puts'][number], state: ViewState): boolean {
  if (!decidingKinds.has(kind) || kind === policyKind) return false
  const before = state.rows.get(kind)?.get(row.id)
  return before === undefined || !isDeepStrictEqual(decidingPart(before), decidingPart(row))
}

const decidingPart = ({ description: _, metadata: __, version: ___, ...row }: Row) => row

/** A write of tests alone concerns these tests only: another one that fails must not keep anyone from mending it. */
function testsAfter({ accountId, state, puts, removals, rules }: VerifiedWrite): PolicyTest[] {
  const written = puts.filter(({ kind }) => kind === policyTest.kind).map(({ row }) => row)
  const decides =
    rules !== undefined ||
    puts.some((put) => mayDecide(put, state)) ||
    removals.some(({ kind }) => decidingKinds.has(kind))
  if (!decides) return written as unknown as PolicyTest[]
  const changed = new Set([...puts, ...removals].map(({ row }) => row.id))
  const others = [...testsIn(state, accountId)].filter(({ id }) => !changed.has(id))
  return [...others, ...(written as unknown as PolicyTest[])]
}

const outcomeInWords = ({ decision, decidedBy, shadow, problem }: TestOutcome): string =>
  decision === null
    ? `no decision (${(problem ?? '').replace(/\.$/, '')})`
    : decisionInWords({ decision, decided_by: decidedBy, shadow })

const nameOf = ({ id = 'that is not stored', description }: PolicyTest): string =>
  description ? `${id} (${JSON.stringify(description)})` : id

function refusal(failed: readonly RunTest[]): WeirError {
  const [first] = failed
  const { test, outcome } = first!
  const wanted = decisionInWords(test.expect)
  const others = failed.length === 1 ? '' : `; ${failed.length - 1} more would fail, too`
  return new WeirError(
    'ERR_POLICY_TEST',
    `The policy test ${nameOf(test)} would fail: it expects ${wanted}, and would get ${outcomeInWords(outcome)}${others}. Nothing was changed.`,
    {
      details: Object.assign(
        { failed: String(failed.length) },
        ...failed.slice(0, describedFailuresMax).map(detailsOf),
      ),
    },
  )
}

/** Details are texts; those of a test follow its place among the failed ones. */
function detailsOf({ test, outcome, explanation }: RunTest, index: number): Record<string, string> {
  const { decision, decidedBy, shadow, problem } = outcome
  const texts = {
    policy_test_id: test.id,
    description: test.description ?? undefined,
    expected: JSON.stringify(test.expect),
    decision: decision ?? undefined,
    decided_by: decidedBy === null ? undefined : JSON.stringify(decidedBy),
    shadow: shadow === null ? undefined : JSON.stringify(shadow),
    problem: problem ?? undefined,
    explanation: explanation === undefined ? undefined : JSON.stringify(explanation),
  }
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) =>
      text === undefined || text.length > detailCharsMax ? [] : [[`tests[${index}].${name}`, text]],
    ),
  )
}
