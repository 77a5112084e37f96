/** The difference of a challenger, from the rows of the decision log. */
import { canonicalAddress } from '../../ground/core/address/ip.js'
import { isoMillis } from '../../ground/core/clock.js'
import type { ChallengerRow } from '../../judging/evaluate/challenger.js'
import { emptyMatrix, shownOverTime } from '../../judging/trial/over-time.js'
import { challengerEnd, challengerState } from '../../words/resource/challenger.js'
import type { ChallengerDifference, ChallengerProgress } from '../../words/shape/challenger-difference.js'
import type {
  ChallengerQuery,
  ComparedDeciders,
  ComparedPair,
  ComparedPairs,
  ComparedPart,
  ComparedRows,
  ComparedValue,
} from '../store/logs/challenger-rows.js'
import { shownDecisions } from './shown-decision.js'

/** As trials list them. */
const valuesListed = 10

export function challengerDifference(
  { challengerId, sinceMs, untilMs }: ChallengerQuery,
  rows: ComparedRows,
): ChallengerDifference {
  const { pairs, firstMs, lastMs } = rows
  const clients = rows.clients.map((client) => ({ ...client, value: canonicalAddress(client.value) }))
  return {
    challenger_id: challengerId,
    since: isoMillis(sinceMs),
    until: isoMillis(untilMs),
    first_at: firstMs === 0 ? null : isoMillis(firstMs),
    last_at: lastMs === 0 ? null : isoMillis(lastMs),
    ...countsOf(pairs),
    missing: rows.missing.flatMap((part) => membersOf[part]),
    matrix: pairs
      .map(({ before, after, records }) => ({ before, after, records: Number(records) }))
      .toSorted((one, other) => pairKey(one).localeCompare(pairKey(other))),
    clients: frequent(clients),
    countries: frequent(rows.countries),
    edges: frequent(rows.edges),
    country_changes: changesOf(rows.countries),
    edge_changes: changesOf(rows.edges),
    over_time: overTimeOf(rows),
    deciders: rows.deciders.map(decidersOf),
    examples: shownDecisions(rows.examples),
  }
}

/** `behindMs`: how long the oldest record waits; undefined if that is unknown. */
export function challengerProgress(
  row: ChallengerRow,
  { pairs, lastMs }: ComparedPairs,
  nowMs: number,
  behindMs: number | undefined,
): ChallengerProgress {
  const state = challengerState(row, nowMs)
  const endMs = challengerEnd(row)
  return {
    challenger_id: row.id,
    state,
    since: isoMillis(row.created_at),
    until: isoMillis(endMs),
    seconds_left: state === 'running' ? Math.ceil((endMs - nowMs) / 1000) : 0,
    ...countsOf(pairs),
    last_at: lastMs === 0 ? null : isoMillis(lastMs),
    behind_seconds: behindMs === undefined ? null : behindMs / 1000,
  }
}

/** Members of the answer, by the part that was not read. */
const membersOf: Readonly<Record<ComparedPart, readonly ChallengerDifference['missing'][number][]>> = {
  deciders: ['deciders'],
  examples: ['examples'],
  overTime: ['over_time'],
  clients: ['clients'],
  edges: ['edges', 'edge_changes'],
  countries: ['countries', 'country_changes'],
}

const sum = (of: readonly ComparedPair[]): number =>
  of.reduce((total, { records }) => total + Number(records), 0)

const countsOf = (pairs: readonly ComparedPair[]) => ({
  records: sum(pairs),
  changed: sum(pairs.filter(({ before, after }) => before !== after)),
})

const pairKey = ({ before, after }: ComparedPair): string => `${before} ${after}`

const changesOf = (values: readonly ComparedValue[]) =>
  values.map(({ value, before, after, records }) => ({
    value: value || null,
    before,
    after,
    records: Number(records),
  }))

function frequent(values: readonly ComparedValue[]): ChallengerDifference['clients'] {
  const sums = new Map<string, number>()
  for (const { value, records } of values) sums.set(value, (sums.get(value) ?? 0) + Number(records))
  return [...sums]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, valuesListed)
    .map(([value, records]) => ({ value: value || null, records }))
}

function overTimeOf({ overTime, intervalSeconds }: ComparedRows): ChallengerDifference['over_time'] {
  const intervals = new Map<number, ReturnType<typeof emptyMatrix>>()
  for (const { interval, before, after, records } of overTime) {
    const matrix = intervals.get(Number(interval)) ?? emptyMatrix()
    matrix[before][after] += Number(records)
    intervals.set(Number(interval), matrix)
  }
  return shownOverTime(intervalSeconds, intervals)
}

const decidersOf = (row: ComparedDeciders): ChallengerDifference['deciders'][number] => ({
  before: row.before,
  before_decided_by: partOf(row.before_type, row.before_id, row.before_policy, row.before_rule),
  after: row.after,
  after_decided_by: partOf(row.after_type, row.after_id, row.after_policy, row.after_rule),
  records: Number(row.records),
})

const partOf = (type: string, id: string, policy: string, rule: string) => ({
  type: type as ChallengerDifference['deciders'][number]['before_decided_by']['type'],
  id: id || null,
  policy: policy || null,
  rule_id: rule || null,
})
