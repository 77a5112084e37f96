/** DuckDB in memory, for documents that show its SQL. */
import { DuckDBInstance } from '@duckdb/node-api'

interface Duckdb {
  /** One statement or several. */
  run(sql: string): Promise<void>
  /** The rows of a query, as JSON has them: times are texts. */
  rows<T>(query: string): Promise<T[]>
}

export async function openDuckdb(t: { teardown(close: () => unknown): unknown }): Promise<Duckdb> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  t.teardown(() => {
    connection.closeSync()
    instance.closeSync()
  })
  return {
    run: async (sql) => void (await connection.run(sql)),
    rows: async (query) => {
      const read = await connection.runAndReadAll(
        `SELECT to_json(answer)::VARCHAR FROM (${query.trim().replace(/;$/, '')}) AS answer`,
      )
      return read.getRows().map(([row]) => JSON.parse(String(row)))
    },
  }
}
