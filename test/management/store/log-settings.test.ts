/** Tables of the logs on ClickHouse of several versions: settings of later ones are used where they are known. */
import { join } from 'node:path'
import t from 'tap'
import { type Clickhouse, openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { tempDir } from '../../harness/temp-dir.js'

const bounds = { retentionMs: 72 * 60 * 60_000, bytesMax: 2 ** 30 }

/** The same, as if it knew no setting of tables. */
const earlierVersion = (clickhouse: Clickhouse): Clickhouse =>
  ({
    cluster: undefined,
    command: (sql: string) => clickhouse.command(sql),
    rows: async (sql: string) => (sql.includes('merge_tree_settings') ? [] : await clickhouse.rows(sql)),
  }) as unknown as Clickhouse

t.test('an insert has its columns in one file where that can be set', async (t) => {
  const clickhouse = await openClickhouse({ directory: join(tempDir(t), 'clickhouse') })
  t.teardown(() => clickhouse.close())
  const engines = async (): Promise<string[]> => {
    const tables = await clickhouse.rows<{ full: string }>(
      "SELECT engine_full AS full FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY name",
    )
    return tables.map(({ full }) => full)
  }
  const insert = async (account: string): Promise<string> => {
    await clickhouse.command(
      `INSERT INTO decisions (account_id, time, record_id)
SELECT '${account}', toDateTime('2026-11-20 10:00:00', 'UTC'), toString(number) FROM numbers(200000)`,
    )
    const [newest] = await clickhouse.rows<{ type: string }>(
      `SELECT part_type AS type FROM system.parts
WHERE table = 'decisions' AND level = 0 ORDER BY min_block_number DESC LIMIT 1`,
    )
    return newest?.type ?? ''
  }
  await shapeLogTables(earlierVersion(clickhouse), bounds)
  t.equal((await engines()).length, 5)
  for (const engine of await engines()) t.notMatch(engine, /min_level_for_wide_part|auto_statistics_types/)
  t.equal(await insert('ac_1'), 'Wide')

  await shapeLogTables(clickhouse, bounds)
  for (const engine of await engines()) {
    t.match(engine, 'min_level_for_wide_part = 1')
    t.match(engine, "auto_statistics_types = ''")
  }
  t.equal(await insert('ac_2'), 'Compact')
})
