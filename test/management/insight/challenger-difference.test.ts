/**
 * A challenger's difference is read in several questions to a log that grows meanwhile: all its parts count the same
 * records.
 */
import t from 'tap'
import { challengerDifference } from '../../../src/management/insight/challenger-difference.js'
import { readCompared } from '../../../src/management/store/logs/challenger-rows.js'
import type { ReadRows } from '../../../src/management/store/logs/log-queries.js'

const query = { accountId: 'ac_1', challengerId: 'chl_1', sinceMs: 0, untilMs: 1_000 }

interface Row {
  readonly ms: number
  readonly after: 'allow' | 'deny'
}

/** A log in which a record more is decided differently after each question. */
function growingLog(): ReadRows {
  const rows: Row[] = Array.from({ length: 20 }, (_, ms) => ({ ms, after: ms % 2 === 0 ? 'allow' : 'deny' }))
  return async <T>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<T[]> => {
    const read = rows.filter(({ ms }) => ms < Number(params['until']))
    rows.push({ ms: rows.length, after: 'deny' })
    const changed = read.filter(({ after }) => after === 'deny')
    const pairOf = (of: readonly Row[]) => ({
      before: 'allow',
      after: of[0]!.after,
      records: of.length,
      firstMs: of[0]!.ms,
      lastMs: of.at(-1)!.ms,
    })
    if (sql.includes('before_type')) return [{ ...pairOf(changed), before_id: '', after_id: 'edge' }] as T[]
    if (sql.includes('AS interval,')) return [{ ...pairOf(changed), interval: 0 }] as T[]
    if (sql.includes('AS value')) return [{ ...pairOf(changed), value: '192.0.2.1' }] as T[]
    if (sql.includes('LIMIT 1 BY client_ip')) return []
    return [pairOf(changed), pairOf(read.filter(({ after }) => after === 'allow'))] as T[]
  }
}

t.test('the number of records that differ is the same above and below', async (t) => {
  const found = challengerDifference(query, await readCompared(growingLog(), query, () => 60))
  t.equal(found.changed, 10)
  const sum = (of: readonly { readonly records: number }[]): number =>
    of.reduce((total, { records }) => total + records, 0)
  t.equal(sum(found.matrix.filter(({ before, after }) => before !== after)), found.changed, 'the matrix')
  for (const part of ['deciders', 'clients', 'countries', 'edges', 'edge_changes'] as const)
    t.equal(sum(found[part]), found.changed, part)
  t.equal(sum(found.over_time.points.flatMap(({ changed }) => changed)), found.changed, 'over time')
})
