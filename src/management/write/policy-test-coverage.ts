/** Compares the configuration of an account with what its policy tests and its traffic reach. */

import type { GeoLookup } from '../../delivery/record/geo.js'
import { yieldTurn } from '../../ground/core/clock.js'
import { Slices } from '../../ground/core/slices.js'
import { Coverage, policyKeyOf } from '../../judging/evaluate/policy-coverage.js'
import type { PolicySet } from '../../judging/evaluate/policy-set.js'
import { questionOf } from '../../judging/evaluate/policy-test.js'
import { labelOf } from '../../judging/evaluate/traffic-policy.js'
import type { Row } from '../../words/resource/kind/define.js'
import { policyTest } from '../../words/resource/policy-test.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import {
  type CoveredPart,
  coveredKinds,
  type PolicyTestCoverage,
  partsListedMax,
} from '../../words/shape/policy-test-coverage.js'
import { policyKind } from '../../words/view/keys.js'
import { subjectInWords } from '../../words/view/rule-subject.js'
import type { ViewState } from '../../words/view/view-state.js'
import { rowsOf } from '../exchange/rows.js'

type Part = Omit<CoveredPart, 'tests' | 'traffic'> & {
  /** As a coverage has it. */
  readonly key: string
  /** Undefined if it is not known whether traffic reached it. */
  readonly traffic: boolean | undefined
}

/** Values of the decision log that had decisions; undefined without a log. */
interface ReachedByTraffic {
  readonly edges: ReadonlySet<string>
  /** Names of traffic policies that denied. */
  readonly policies: ReadonlySet<string>
  /** Rules that blocked. */
  readonly rules: ReadonlySet<string>
}

/** The parts that the account's policy tests reach, and the number of tests. */
export async function testedParts(
  state: ViewState,
  accountId: string,
  policySet: PolicySet,
  geo: GeoLookup,
  slices: Slices,
): Promise<{ readonly coverage: Coverage; readonly tests: number }> {
  const coverage = new Coverage(policySet)
  let tests = 0
  for (const row of rowsOf(state, accountId, policyTest.kind)) {
    if (slices.isDue()) await slices.pause()
    tests += 1
    const { given, expect } = row as DeclaredRow<'policy_test'>
    const { record, geoOf } = questionOf(given)
    if (record !== undefined) coverage.add(accountId, record, geoOf(geo), Boolean(expect.shadow))
  }
  return { coverage, tests }
}

export async function coverageOf(
  state: ViewState,
  accountId: string,
  policySet: PolicySet,
  geo: GeoLookup,
  traffic: ReachedByTraffic | undefined,
): Promise<PolicyTestCoverage> {
  const slices = new Slices({ letOthers: yieldTurn })
  const { coverage, tests } = await testedParts(state, accountId, policySet, geo, slices)
  const kinds = coveredKinds.map((kind) => ({ kind, parts: 0, reached_by_tests: 0, reached_by_traffic: 0 }))
  const unreached: CoveredPart[] = []
  let left = 0
  for (const { key, traffic: seen, ...part } of partsIn(state, accountId, traffic)) {
    if (slices.isDue()) await slices.pause()
    const isTested = coverage.parts.has(key)
    const counted = kinds.find(({ kind }) => kind === part.kind)!
    counted.parts += 1
    if (isTested) counted.reached_by_tests += 1
    if (seen) counted.reached_by_traffic += 1
    if (isTested && seen !== false) continue
    if (unreached.length < partsListedMax) unreached.push({ ...part, tests: isTested, traffic: seen ?? null })
    else left += 1
  }
  const isKnown = (kind: string): boolean => traffic !== undefined && knownKinds.has(kind)
  return {
    tests,
    kinds: kinds.map((each) => (isKnown(each.kind) ? each : { ...each, reached_by_traffic: null })),
    unreached,
    unreached_left_out: left,
  }
}

/** Kinds whose parts the sums of the decision log name. */
const knownKinds: ReadonlySet<string> = new Set([
  'tcp_edge',
  'https_edge',
  'traffic_policy',
  'ip_policy_rule',
])

/** The parts that decide, in the order of the kinds. */
function* partsIn(
  state: ViewState,
  accountId: string,
  traffic: ReachedByTraffic | undefined,
): Iterable<Part> {
  const rows = (kind: string): Iterable<Row> => rowsOf(state, accountId, kind)
  const owners: [Row, string | null][] = []
  for (const kind of ['tcp_edge', 'https_edge'] as const)
    for (const row of rows(kind)) {
      const [name = null] = (row['hostports'] ?? []) as readonly string[]
      owners.push([row, name])
      yield { kind, id: row.id, key: row.id, name, traffic: traffic?.edges.has(row.id) }
    }
  for (const row of rows('https_edge_route')) {
    const name = String(row['match'])
    owners.push([row, name])
    yield { kind: 'https_edge_route', id: row.id, key: row.id, name, traffic: undefined }
  }
  for (const [row] of owners) yield* policiesOf(row, traffic)
  for (const { id } of rows(policyKind)) yield* rulesOf(state, id, traffic)
  for (const row of rows('ip_restriction'))
    if (row['type'] === 'endpoints')
      yield { kind: 'ip_restriction', id: row.id, key: row.id, name: null, traffic: undefined }
}

type Policies = DeclaredRow<'tcp_edge'>['policies']

/** Those of a module that is disabled decide nothing, nor do outbound ones. */
function* policiesOf(row: Row, traffic: ReachedByTraffic | undefined): Iterable<Part> {
  const module = row['policies'] as Policies | undefined
  if (!module?.enabled) return
  for (const [index, policy] of module.inbound.entries()) {
    const name = labelOf(policy, 'inbound', index)
    // One that only logs decides nothing.
    const denies = policy.actions.some(({ type }) => type === 'deny')
    const seen = denies ? traffic?.policies.has(name) : undefined
    yield { kind: 'traffic_policy', id: row.id, key: policyKeyOf(row.id, name), name, traffic: seen }
  }
}

function* rulesOf(state: ViewState, policyId: string, traffic: ReachedByTraffic | undefined): Iterable<Part> {
  for (const rule of state.rules(policyId)?.rules ?? []) {
    const { id, action } = rule
    yield {
      kind: 'ip_policy_rule',
      id,
      key: id,
      name: subjectInWords(state, rule),
      // No single rule lets a client in.
      traffic: action === 'deny' ? traffic?.rules.has(id) : undefined,
    }
  }
}
