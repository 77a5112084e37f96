/** ClickHouse, a server or embedded, behind one small interface; the SQL is the same for both. */
import { type ClickHouseClient, ClickHouseError, createClient } from '@clickhouse/client'
import { messageOf } from '../core/errors.js'
import { ChdbConnection } from './chdb-connection.js'

export interface ClickhouseOptions {
  /** `http(s)://user:pass@host:8123/db`; undefined: embedded. */
  readonly url?: string | undefined
  /** Directory of the embedded ClickHouse. */
  readonly directory: string
}

export interface Clickhouse {
  /** All rows, or an error: a short answer is not a smaller table. */
  rows<T>(sql: string, params?: Record<string, unknown>): Promise<T[]>
  command(sql: string): Promise<void>
  /** Resolves when the rows are stored: on disk, where the table's settings ask for it. */
  insert(table: string, rows: readonly object[]): Promise<void>
  /** The answer as text, for people: `SELECT` and the like only. */
  text(sql: string, format: TextFormat): Promise<string>
  ping(): Promise<boolean>
  close(): Promise<void>
}

export type TextFormat = 'PrettyCompactMonoBlock' | 'TSVWithNames' | 'CSVWithNames' | 'JSONEachRow'

const requestTimeoutMs = 30_000

/** Unknown columns are a defect of ours; a server's profile must not turn inserts into deferred ones. */
const insertSettings = {
  async_insert: 0,
  input_format_skip_unknown_fields: 0,
} as const

/** The rows a format holds, with the count that proves them complete. */
interface Counted<T> {
  readonly data: T[]
  readonly rows: number
}

export function openClickhouse(options: ClickhouseOptions): Clickhouse {
  const client =
    options.url === undefined
      ? createClient({ connection: new ChdbConnection(options.directory) })
      : createClient({ url: options.url, request_timeout: requestTimeoutMs, application: 'weir' })
  return new ClickhouseOverClient(client)
}

class ClickhouseOverClient implements Clickhouse {
  readonly #client: ClickHouseClient

  constructor(client: ClickHouseClient) {
    this.#client = client
  }

  async rows<T>(sql: string, params: Record<string, unknown> = {}): Promise<T[]> {
    const result = await this.#client.query({
      query: sql,
      query_params: params,
      format: 'JSON',
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    })
    const { data, rows } = (await result.json()) as unknown as Counted<T>
    if (data.length !== rows) throw new Error(`ClickHouse announced ${rows} rows and sent ${data.length}.`)
    return data
  }

  async command(sql: string): Promise<void> {
    await this.#client.command({ query: sql })
  }

  async insert(table: string, rows: readonly object[]): Promise<void> {
    if (rows.length === 0) return
    await this.#client.insert({
      table,
      values: [...rows],
      format: 'JSONEachRow',
      clickhouse_settings: insertSettings,
    })
  }

  async text(sql: string, format: TextFormat): Promise<string> {
    const result = await this.#client.exec({
      query: `${sql.replace(/;\s*$/, '')}\nFORMAT ${format}`,
      clickhouse_settings: { readonly: '1' },
    })
    const chunks: Buffer[] = []
    for await (const chunk of result.stream) chunks.push(Buffer.from(chunk as Uint8Array))
    return Buffer.concat(chunks).toString('utf8')
  }

  async ping(): Promise<boolean> {
    return (await this.#client.ping()).success
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

/** Did ClickHouse itself refuse the statement, rather than being away? Those are worth no second try. */
export const isRefusedByClickhouse = (error: unknown): boolean => error instanceof ClickHouseError

export const clickhouseMessage = (error: unknown): string => messageOf(error).split('\n')[0] ?? ''
