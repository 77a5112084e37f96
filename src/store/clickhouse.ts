/** ClickHouse, a server or embedded, behind one small interface; the SQL is the same for both. */
import { mkdirSync } from 'node:fs'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  createClient,
  type DataFormat,
  parseError,
} from '@clickhouse/client'
import { within, yieldTurn } from '../core/clock.js'
import { badRequest } from '../core/errors.js'
import { ChdbConnection } from './chdb-connection.js'

export interface ClickhouseOptions {
  /** `http(s)://user:pass@host:8123/db`; undefined: embedded. */
  readonly url?: string | undefined
  /** Directory of the embedded ClickHouse. */
  readonly directory: string
}

export interface Clickhouse {
  /** All rows, or an error: a short answer is not a smaller table. */
  rows<T>(sql: string, params?: Record<string, unknown>, timeoutMs?: number): Promise<T[]>
  command(sql: string, params?: Record<string, unknown>): Promise<void>
  /**
   * All of them or none; they have the same columns in the same order. Resolves when the rows are stored: on disk,
   * where the table's settings ask for it.
   */
  insert(table: string, rows: Iterable<object>): Promise<void>
  /** The answer as text, for people: `SELECT` and the like only. A format that the query names goes first. */
  text(sql: string, format: TextFormat): Promise<string>
  close(): Promise<void>
}

export type TextFormat = 'PrettyCompactMonoBlock' | 'TSVWithNames' | 'CSVWithNames' | 'JSONEachRow'

/** Reading a whole table may take a while. */
const readTimeoutMs = 30_000
/** Someone waits for a write: a ClickHouse that hangs must not make them wait long. */
const writeTimeoutMs = 10_000
/** Many rows may take longer: a hundred times what they take on a machine with nothing else to do. */
const rowTimeoutMs = 1
const peopleTimeoutMs = 120_000
/** Rows turned into text in one go: some milliseconds of them. */
const rowsPerText = 500

/** Embedded, it would colour tables; whatever a terminal obeys is taken out of what a query answers. */
const plainTables = { output_format_pretty_color: 0 } as const

/** The rows a format holds, with the count that proves them complete. */
interface Counted<T> {
  readonly data: T[]
  readonly rows: number
}

export function openClickhouse(options: ClickhouseOptions): Clickhouse {
  const client =
    options.url === undefined
      ? createClient({ connection: new ChdbConnection(ownDirectory(options.directory), parseError) })
      : createClient({
          url: options.url,
          request_timeout: peopleTimeoutMs,
          application: 'weir',
          // Its warnings are advice about settings, written past our log.
          log: { level: ClickHouseLogLevel.ERROR },
        })
  return new ClickhouseOverClient(client)
}

/** The engine would let everybody read what it makes. */
function ownDirectory(directory: string): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return directory
}

class ClickhouseOverClient implements Clickhouse {
  readonly #client: ClickHouseClient

  constructor(client: ClickHouseClient) {
    this.#client = client
  }

  rows<T>(sql: string, params: Record<string, unknown> = {}, timeoutMs = readTimeoutMs): Promise<T[]> {
    return timed(timeoutMs, async (abort_signal) => {
      const result = await this.#client.query({
        query: sql,
        query_params: params,
        format: 'JSON',
        clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
        abort_signal,
      })
      const { data, rows } = (await result.json()) as unknown as Counted<T>
      if (data.length !== rows) throw new Error(`ClickHouse announced ${rows} rows and sent ${data.length}.`)
      return data
    })
  }

  command(sql: string, params: Record<string, unknown> = {}): Promise<void> {
    return timed(readTimeoutMs, async (abort_signal) => {
      await this.#client.command({ query: sql, query_params: params, abort_signal })
    })
  }

  async insert(table: string, rows: Iterable<object>): Promise<void> {
    const { columns, texts, count } = await inTexts(rows)
    if (count === 0) return
    await timed(writeTimeoutMs + count * rowTimeoutMs, async (abort_signal) => {
      const { stream } = await this.#client.exec({
        query: `INSERT INTO ${table} (${columns.join(', ')}) FORMAT JSONCompactEachRow`,
        values: Readable.from(texts),
        // A server's profile must not turn it into a deferred one.
        clickhouse_settings: { async_insert: 0 },
        abort_signal,
      })
      await finished(stream.resume())
    })
  }

  async text(sql: string, format: TextFormat): Promise<string> {
    // Embedded, a query that may only read still writes the file it names.
    if (/\boutfile\b/i.test(sql))
      throw badRequest("A query can't have INTO OUTFILE: redirect what the command prints.")
    return timed(peopleTimeoutMs, async (abort_signal) => {
      const result = await this.#client.exec({
        query: sql.replace(/;\s*$/, ''),
        clickhouse_settings: { ...plainTables, readonly: '1', default_format: format as DataFormat },
        abort_signal,
      })
      const chunks: Buffer[] = []
      for await (const chunk of result.stream) chunks.push(Buffer.from(chunk as Uint8Array))
      return Buffer.concat(chunks).toString('utf8')
    })
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

/**
 * Gives up after a time. Over HTTP the request is aborted; a statement inside this process goes on, which is harmless:
 * what Weir writes can be written twice.
 */
async function timed<T>(timeoutMs: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  try {
    const message = `ClickHouse did not answer within ${timeoutMs / 1000} s.`
    return await within(timeoutMs, call(controller.signal), message)
  } finally {
    controller.abort()
  }
}

interface Texts {
  readonly columns: readonly string[]
  readonly texts: readonly string[]
  readonly count: number
}

/** Rows as JSONCompactEachRow, some at a time: others have their turn while very many are turned into text. */
async function inTexts(rows: Iterable<object>): Promise<Texts> {
  const texts: string[] = []
  let columns: readonly string[] = []
  let count = 0
  let text = ''
  for (const row of rows) {
    if (count === 0) columns = Object.keys(row)
    text += `${JSON.stringify(Object.values(row))}\n`
    count += 1
    if (count % rowsPerText !== 0) continue
    texts.push(text)
    text = ''
    await yieldTurn()
  }
  if (text !== '') texts.push(text)
  return { columns, texts, count }
}

/** Did ClickHouse itself refuse the statement, rather than being away? Those are worth no second try. */
export const isRefusedByClickhouse = (error: unknown): boolean => error instanceof ClickHouseError

/** Are the tables or the whole database not there? */
export const isTableMissing = (error: unknown): boolean =>
  error instanceof ClickHouseError && (error.code === '60' || error.code === '81')
