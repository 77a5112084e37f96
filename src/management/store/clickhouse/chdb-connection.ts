/**
 * The official ClickHouse client over ClickHouse inside this process (chdb).
 *
 * Each statement gets its own session: settings and parameters then end with it, and a query that fails after its
 * first block can't leak rows into the next result. Calls are asynchronous and come only from the main thread of the
 * one process that owns the directory, because the engine crashes in other threads.
 */
import { Readable } from 'node:stream'
import { type ChdbResult, Session } from 'chdb'
import { newId } from '../../../ground/core/ids.js'
import { endAtOnce } from '../../../ground/core/telemetry/last-resort.js'

interface Statement {
  readonly query: string
  readonly clickhouse_settings?: object | undefined
  readonly query_params?: Record<string, unknown> | undefined
  readonly query_id?: string | undefined
  readonly values?: string | Readable | undefined
}

/** Settings for the HTTP interface only. */
const httpOnly = new Set([
  'wait_end_of_query',
  'send_progress_in_http_headers',
  'enable_http_compression',
  'http_headers_progress_interval_ms',
  'cancel_http_readonly_queries_on_client_close',
])

/**
 * The engine looks at the memory of its process so often; by default 20 times a second, also while nothing is to be done.
 */
const engineArguments = ['--memory_worker_period_ms=1000']

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/

const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function settingLiteral(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'boolean') return value ? '1' : '0'
  return literal(String(value))
}

const escapes: Readonly<Record<string, string>> = {
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  "'": "\\'",
  '\\': '\\\\',
}

/** A parameter in the form of TabSeparated, which ClickHouse reads it in; in an array as in SQL. */
export function parameterText(value: unknown, isElement = false): string {
  if (value === null || value === undefined) return isElement ? 'NULL' : '\\N'
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean') return isElement ? String(value) : value ? '1' : '0'
  if (Array.isArray(value)) return `[${value.map((each) => parameterText(each, true)).join(',')}]`
  if (typeof value !== 'string')
    throw new Error('A query parameter is a text, a number, a boolean or an array of these.')
  const text = value.replaceAll(/[\t\n\r'\\]/g, (character) => escapes[character]!)
  return isElement ? `'${text}'` : text
}

/** Settings and parameters as statements in front of the query. */
function preamble({ clickhouse_settings = {}, query_params = {} }: Statement): string {
  let text = ''
  for (const [name, value] of Object.entries(clickhouse_settings)) {
    if (value === undefined || httpOnly.has(name) || name === 'default_format') continue
    if (!identifier.test(name)) throw new Error(`"${name}" is not a ClickHouse setting.`)
    text += `SET ${name} = ${settingLiteral(value)}; `
  }
  for (const [name, value] of Object.entries(query_params)) {
    if (!identifier.test(name)) throw new Error(`"${name}" is not a valid name of a query parameter.`)
    text += `SET param_${name} = ${literal(parameterText(value))}; `
  }
  return text
}

/** The format of the answer, unless the query names one. */
const formatOf = ({ clickhouse_settings = {} }: Statement): string =>
  String((clickhouse_settings as { default_format?: unknown }).default_format ?? 'TabSeparated')

const textOf = async (values: string | Readable): Promise<string> => {
  if (typeof values === 'string') return values
  const texts: string[] = []
  for await (const text of values) texts.push(String(text))
  return texts.join('')
}

export class ChdbConnection {
  readonly #path: string
  readonly #asClientError: (error: Error) => Error
  /** Keeps the engine and the directory's lock while the connection is open. */
  readonly #keeper: Session
  readonly #running = new Set<Promise<unknown>>()
  #closed = false

  /**
   * Throws if another process owns the directory. `asClientError`: the client's own error parser, so that errors have
   * the same class as over HTTP; a second copy of the package would make another class.
   */
  constructor(path: string, asClientError: (error: Error) => Error) {
    this.#path = path
    this.#asClientError = asClientError
    this.#keeper = new Session(path, { connectionArgs: engineArguments })
    process.on('exit', this.#endWithStatements)
  }

  /**
   * `process.exit` would wait until every running statement has ended, however long that takes. The process is killed
   * instead; confirmed rows are on disk.
   */
  readonly #endWithStatements = (): void => {
    if (this.#running.size > 0) endAtOnce()
  }

  async #run(statement: Statement, body = ''): Promise<ChdbResult> {
    if (this.#closed) throw new Error('The embedded ClickHouse is closed.')
    const text = `${preamble(statement)}${statement.query}${body === '' ? '' : `\n${body}`}`
    const session = new Session(this.#path)
    const running = session.queryAsync(text, { format: formatOf(statement) }).finally(() => session.close())
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      throw this.#asClientError(error as Error)
    } finally {
      this.#running.delete(running)
    }
  }

  async exec(statement: Statement) {
    const result = await this.#run(statement, await textOf(statement.values ?? ''))
    return {
      stream: streamOf(result),
      query_id: statement.query_id ?? newId('query_'),
      response_headers: {},
      http_status_code: 200,
    }
  }

  readonly query = this.exec
  readonly command = this.exec
  readonly insert = this.exec

  async ping(): Promise<{ success: true } | { success: false; error: Error }> {
    try {
      await this.#run({ query: 'SELECT 1' })
      return { success: true }
    } catch (error) {
      return { success: false, error: error as Error }
    }
  }

  /** Waits for running statements; then the directory is free. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.allSettled(this.#running)
    this.#keeper.close()
    process.off('exit', this.#endWithStatements)
  }
}

/** The answer's own bytes, not a copy: there may be very many. */
function streamOf(result: ChdbResult): Readable {
  const { buffer, byteOffset, byteLength } = result.bytes()
  return Readable.from([Buffer.from(buffer, byteOffset, byteLength)])
}
