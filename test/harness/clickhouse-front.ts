/**
 * Enough of ClickHouse's HTTP interface over the embedded engine for the real HTTP client, as a separate process.
 *
 *     node dist/test/harness/clickhouse-front.js --port 0 --path DIR [--password PASSWORD] [--cluster CONFIG]
 *
 * prints `clickhouse: http://…`. A request to `/control?mode=…` changes how it answers: `ok`, `hang` (no answer at
 * all), `fail` (500), `short` (the answer without its second half, its announced length included), `unconfirmed`
 * (inserts are made, and refused all the same), `full` (inserts are refused, as without room on the disk), `slow` (answers
 * take seconds), `minority` (two of three replicas are down, as the table of replicas has it), `die`.
 */
import { randomUUID } from 'node:crypto'
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { Session } from 'chdb'
import { engineOptions, onOneServer } from './clickhouse-cluster.js'
import { type Running, run } from './processes.js'

export type FrontMode =
  | 'ok'
  | 'hang'
  | 'fail'
  | 'short'
  | 'unconfirmed'
  | 'full'
  | 'slow'
  | 'minority'
  | 'die'

const user = 'default'
/** Longer than a health check waits. */
const slowMs = 2_000
/** Parameters of a query string that are not settings. */
const ownParameters = new Set(['query', 'query_id', 'database', 'default_format', 'session_id'])
const httpSettings = /^(wait_end_of_query|send_progress|enable_http_compression|http_|cancel_http|compress)/
const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/
const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const statuses: Readonly<Record<number, number>> = { 47: 404, 60: 404, 62: 400, 81: 404, 115: 404, 516: 403 }

/** In place of the system's table, which is empty without replicated tables. */
const minority = `(SELECT currentDatabase() AS database, 'deployment' AS table,
1 AS active_replicas, 3 AS total_replicas, 0 AS is_readonly)`

class Front {
  readonly #path: string
  readonly #password: string
  readonly #isCluster: boolean
  mode: FrontMode = 'ok'

  constructor(path: string, password: string, isCluster: boolean) {
    this.#path = path
    this.#password = password
    this.#isCluster = isCluster
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://front')
    if (pathname === '/control') {
      this.mode = (searchParams.get('mode') ?? 'ok') as FrontMode
      response.end('Ok.\n')
      if (this.mode === 'die') process.kill(process.pid, 'SIGKILL')
      return
    }
    const body = await bodyOf(request)
    if (this.mode === 'hang') return
    if (this.mode === 'slow') await new Promise((resolve) => setTimeout(resolve, slowMs))
    if (this.mode === 'fail') return refuse(response, 1000, 'The front fails on request', 'POCO_EXCEPTION')
    if (!this.#mayEnter(request)) {
      return refuse(
        response,
        516,
        `${user}: Authentication failed: password is incorrect, or there is no user with such name`,
        'AUTHENTICATION_FAILED',
      )
    }
    if (pathname === '/ping') return void response.end('Ok.\n')
    await this.#run(searchParams, body, response)
  }

  #mayEnter({ headers }: IncomingMessage): boolean {
    const given = /^Basic (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
    return Buffer.from(given, 'base64').toString() === `${user}:${this.#password}`
  }

  async #run(parameters: URLSearchParams, body: Buffer, response: ServerResponse): Promise<void> {
    const file = `${this.#path}-${randomUUID()}`
    const sql = statementOf(parameters.get('query'), body, file)
    const format = parameters.get('default_format') ?? 'TabSeparated'
    if (this.mode === 'full' && sql.startsWith('INSERT'))
      return refuse(response, 243, 'Cannot reserve 1.00 MiB, not enough space', 'NOT_ENOUGH_SPACE')
    let preamble = ''
    for (const [name, value] of parameters) {
      if (ownParameters.has(name) || httpSettings.test(name) || !identifier.test(name)) continue
      preamble += `SET ${name} = ${literal(value)}; `
    }
    if (this.#isCluster) appendFileSync(statementsFile(this.#path), `${JSON.stringify({ preamble, sql })}\n`)
    const session = new Session(this.#path)
    try {
      const statement = this.#isCluster ? onOneServer(sql) : sql
      const seen = this.mode === 'minority' ? statement.replace('system.replicas', minority) : statement
      const result = await session.queryAsync(preamble + seen, { format })
      if (this.mode === 'unconfirmed' && sql.startsWith('INSERT'))
        return refuse(response, 319, 'Unknown status, client must retry', 'UNKNOWN_STATUS_OF_INSERT')
      const answer = Buffer.from(result.bytes())
      const kept = this.mode === 'short' ? answer.subarray(0, Math.floor(answer.length / 2)) : answer
      response.setHeader('X-ClickHouse-Query-Id', parameters.get('query_id') ?? '')
      response.setHeader('X-ClickHouse-Summary', JSON.stringify({ read_rows: String(result.rowsRead) }))
      response.end(kept)
    } catch (error) {
      const message = (error as Error).message
      const [, code = '1000', text = message, name = 'UNKNOWN'] =
        /Code: (\d+)\. DB::Exception: ([\s\S]*?)\.? \(([A-Z0-9_]+)\)\s*$/.exec(message) ?? []
      refuse(response, Number(code), text, name)
    } finally {
      session.close()
      rmSync(file, { force: true })
    }
  }
}

function refuse(response: ServerResponse, code: number, message: string, name: string): void {
  response.statusCode = statuses[code] ?? 500
  response.setHeader('X-ClickHouse-Exception-Code', String(code))
  response.end(`Code: ${code}. DB::Exception: ${message}. (${name}) (version 26.7)\n`)
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** The statement with its body. Blocks of rows come from a file: statements of the embedded engine are text. */
function statementOf(query: string | null, body: Buffer, file: string): string {
  if (query === null) return body.toString('utf8')
  if (!/FORMAT Native$/.test(query)) return `${query}\n${body.toString('utf8')}`
  writeFileSync(file, body)
  return query.replace('FORMAT', () => `FROM INFILE ${literal(file)} FORMAT`)
}

function main(): void {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      path: { type: 'string' },
      password: { type: 'string' },
      cluster: { type: 'string' },
    },
  })
  const path = values.path ?? ''
  const keeper = new Session(path, engineOptions(values.cluster))
  const front = new Front(path, values.password ?? '', values.cluster !== undefined)
  const server = createServer((request, response) => {
    front.answer(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  server.listen(Number(values.port ?? 0), '127.0.0.1', () => {
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    process.stdout.write(`clickhouse: http://127.0.0.1:${port}\n`)
  })
  process.on('SIGTERM', () => {
    server.closeAllConnections()
    keeper.close()
    process.exit(0)
  })
}

// Bundled with one test alone, it is in the file of the test.
if (basename(process.argv[1] ?? '') === 'clickhouse-front.js') main()

export interface ClickhouseFront {
  /** For `CLICKHOUSE_URL`. */
  readonly url: string
  readonly process: Running
  mode(mode: FrontMode): Promise<void>
  /** The settings and statements that a cluster got, as they were sent. */
  statements(): readonly SentStatement[]
}

interface SentStatement {
  readonly preamble: string
  readonly sql: string
}

const statementsFile = (path: string): string => `${path}-statements`

const frontPassword = 'pass:word'

/** Starts a front over this directory as a process; `port` 0: any free one. `cluster`: the configuration of one. */
export async function startClickhouseFront(
  path: string,
  port = 0,
  cluster?: string,
): Promise<ClickhouseFront> {
  const started = run('test/harness/clickhouse-front.js', [
    ...['--port', String(port), '--path', path],
    ...['--password', frontPassword],
    ...(cluster === undefined ? [] : ['--cluster', cluster]),
  ])
  const [, base = ''] = await started.line(/^clickhouse: (\S+)$/)
  const url = new URL(base)
  url.username = user
  url.password = encodeURIComponent(frontPassword)
  return {
    url: url.href.replace(/\/$/, ''),
    process: started,
    statements: () =>
      readFileSync(statementsFile(path), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as SentStatement),
    mode: async (mode) => {
      await fetch(`${base}/control?mode=${mode}`).then(
        (response) => response.text(),
        () => {},
      )
    },
  }
}
