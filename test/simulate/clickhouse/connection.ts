/** A model of ClickHouse behind the client's own `connection`: it answers late, not at all, short, or after an error. */
import { Readable } from 'node:stream'
import { answerOf } from './statements.js'
import type { Tables } from './tables.js'

interface Statement {
  readonly query: string
  readonly query_params?: Record<string, unknown> | undefined
  readonly values?: string | Readable | undefined
  readonly abort_signal?: AbortSignal | undefined
}

/** What becomes of a statement. */
export type Fate =
  | 'answered'
  /** Carried out, but its answer does not arrive. */
  | 'unanswered'
  /** Not carried out. */
  | 'refused'
  /** Of a read: rows are missing at the end, as from a server that was killed. */
  | 'short'

/** What the model takes from its world. */
export interface ClickhouseWorld {
  /** Resolves after as many milliseconds as a statement takes. */
  taken(): Promise<void>
  fateOf(query: string): Fate
}

export class ModelConnection {
  readonly #tables: () => Tables
  readonly #world: ClickhouseWorld

  /** `tables`: those that it has now; a backup may take their place. */
  constructor(tables: () => Tables, world: ClickhouseWorld) {
    this.#tables = tables
    this.#world = world
  }

  readonly exec = async (statement: Statement) => ({
    stream: Readable.from([Buffer.from(await this.#answer(statement))]),
    query_id: 'query',
    response_headers: {},
    http_status_code: 200,
  })

  readonly query = this.exec
  readonly command = this.exec
  readonly insert = this.exec

  async #answer(statement: Statement): Promise<string> {
    const body = await textOf(statement.values ?? '')
    await this.#world.taken()
    const fate = this.#world.fateOf(statement.query)
    if (fate === 'refused') throw new Error('connect ECONNREFUSED 127.0.0.1:8123')
    const rows = this.#carryOut(statement, body)
    await this.#world.taken()
    if (fate === 'unanswered') throw new Error('socket hang up')
    if (rows === undefined) return ''
    const text = JSON.stringify({ data: rows, rows: rows.length })
    return fate === 'short' ? JSON.stringify({ data: rows.slice(0, -1), rows: rows.length }) : text
  }

  /** The rows of a read; undefined for a write. */
  #carryOut({ query, query_params = {} }: Statement, body: string): readonly object[] | undefined {
    const inserted = /^INSERT INTO (\w+) \(([\w, ]+)\) FORMAT JSONCompactEachRow$/.exec(query)
    if (inserted === null) return answerOf(this.#tables(), query, query_params)
    const [, name, names] = inserted
    const columns = names!.split(', ')
    const lines = body.split('\n').filter((line) => line !== '')
    const rows = lines.map((line) =>
      Object.fromEntries((JSON.parse(line) as unknown[]).map((value, at) => [columns[at]!, value])),
    )
    this.#tables().get(name!).insert(rows)
    return undefined
  }

  async ping(): Promise<{ success: true }> {
    return { success: true }
  }

  async close(): Promise<void> {}
}

async function textOf(values: string | Readable): Promise<string> {
  if (typeof values === 'string') return values
  let text = ''
  for await (const chunk of values) text += String(chunk)
  return text
}
