/** ClickHouse, a server or embedded, behind one small class; the SQL is the same for both. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  createClient,
  type DataFormat,
  parseError,
} from '@clickhouse/client'
import { monotonicMs, sleep, within, yieldTurn } from '../../../ground/core/clock.js'
import { badRequest, StartFault } from '../../../ground/core/errors.js'
import { newId } from '../../../ground/core/ids.js'
import { ReleasedBuffers } from '../../../ground/core/released-buffers.js'
import { traced } from '../../../ground/core/telemetry/tracing.js'
import {
  type Cluster,
  clusterAt,
  clusterDdlSettings,
  consistentReads,
  quorumSettings,
  shardInsertSettings,
} from './cluster.js'
import { BlocksInFile, BlocksInMemory, type CollectedBlocks } from './collected-blocks.js'
import { embeddedFault } from './embedded.js'
import { isReplicaNotReady } from './errors.js'
import { type ClickhouseFiles, explained, tlsOptions } from './tls-agent.js'

interface ClickhouseOptions extends ClickhouseFiles {
  /** `http(s)://user:pass@host:8123/db`; undefined for the embedded ClickHouse. */
  readonly url?: string | undefined
  /** Directory of the embedded ClickHouse. */
  readonly directory: string
  /** The name of the cluster to which the server belongs. */
  readonly cluster?: string | undefined
  /** A model of a simulation in the place of both. */
  readonly connection?: object | undefined
}

export type TextFormat = 'PrettyCompactMonoBlock' | 'TSVWithNames' | 'CSVWithNames' | 'JSONEachRow'

/** Reading a whole table may take a while. */
const readTimeoutMs = 30_000
/** A client waits for the write, so a ClickHouse that hangs must fail soon. */
const writeTimeoutMs = 10_000
/** No client waits for a batch of rows of the log. */
const batchTimeoutMs = 60_000
/** Extra time per row: a hundred times what a row takes on an idle machine. */
const rowTimeoutMs = 1
const peopleTimeoutMs = 120_000
const replicaPauseMs = 100
/** Rows turned into text without a pause, which takes some milliseconds. */
const rowsPerText = 500

/** The embedded engine would colour tables; answers must hold no terminal control sequences. */
const plainTables = { output_format_pretty_color: 0 } as const

export async function openClickhouse(options: ClickhouseOptions): Promise<Clickhouse> {
  const { connection: model } = options
  if (model !== undefined) return new Clickhouse(createClient({ connection: model } as object), {})
  if (options.url === undefined) {
    const fault = embeddedFault()
    if (fault !== undefined) throw new StartFault(fault)
    // The engine is large: with a server it is never loaded.
    const { ChdbConnection } = await import('./chdb-connection.js')
    const connection = new ChdbConnection(ownDirectory(options.directory), parseError)
    return new Clickhouse(createClient({ connection }), {
      incoming: emptyDirectory(`${options.directory}-incoming`),
    })
  }
  const cluster = options.cluster === undefined ? undefined : clusterAt(options.url, options.cluster)
  const client = createClient({
    url: options.url,
    ...tlsOptions(options.url, options),
    request_timeout: peopleTimeoutMs,
    application: 'weir',
    // Its warnings are advice about settings and bypass our log. Some errors of a cluster only mean that a server is not
    // ready.
    log: { level: cluster === undefined ? ClickHouseLogLevel.ERROR : ClickHouseLogLevel.OFF },
  })
  return new Clickhouse(client, { cluster })
}

/** A process that was killed may have left files there. */
function emptyDirectory(directory: string): string {
  rmSync(directory, { recursive: true, force: true })
  return ownDirectory(directory)
}

/** Created here, because the engine would make it readable for every user of the host. */
function ownDirectory(directory: string): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return directory
}

export class Clickhouse {
  readonly #client: ClickHouseClient
  /** The directory of files that the embedded engine reads; undefined for a server. */
  readonly #incoming: string | undefined
  readonly #released = new ReleasedBuffers()
  #storedMs = Number.NEGATIVE_INFINITY
  /** Undefined for one server, or the embedded one. */
  readonly cluster: Cluster | undefined

  constructor(
    client: ClickHouseClient,
    { incoming, cluster }: { readonly incoming?: string; readonly cluster?: Cluster | undefined },
  ) {
    this.#client = client
    this.#incoming = incoming
    this.cluster = cluster
  }

  get isEmbedded(): boolean {
    return this.#incoming !== undefined
  }

  /** Did `insert` store rows so short ago, and has none failed since? */
  readonly hasStored = (withinMs: number): boolean => monotonicMs() - this.#storedMs < withinMs

  /**
   * All rows or an error: a truncated answer must not look like a smaller table. On a cluster, the rows of every confirmed
   * `insert` are among them, whichever server took it.
   */
  rows<T>(sql: string, params: Record<string, unknown> = {}, timeoutMs = readTimeoutMs): Promise<T[]> {
    const read = async (abort_signal: AbortSignal): Promise<T[]> => {
      const result = await this.#client.query({
        query: sql,
        query_params: params,
        format: 'JSON',
        clickhouse_settings: {
          output_format_json_quote_64bit_integers: 0,
          ...(this.cluster !== undefined && consistentReads),
        },
        abort_signal,
      })
      const { data, rows } = await result.json<T>()
      if (data.length !== rows) throw new Error(`ClickHouse announced ${rows} rows and sent ${data.length}.`)
      return data
    }
    return traced('query', { kind: 'client', attributes: { 'db.system.name': 'clickhouse' } }, () =>
      timed(timeoutMs, (signal) => whenReplicasAreReady(signal, () => read(signal))),
    )
  }

  command(sql: string, params: Record<string, unknown> = {}, timeoutMs = readTimeoutMs): Promise<void> {
    return timed(timeoutMs, async (abort_signal) => {
      const clickhouse_settings = this.cluster === undefined ? {} : clusterDdlSettings
      await this.#client.command({ query: sql, query_params: params, abort_signal, clickhouse_settings })
    })
  }

  /**
   * Inserts all rows or none; they have the same columns in the same order. Resolves when the rows are stored, and synced to
   * disk if the table's settings ask for it; on a cluster, by most servers. A repeated insert has the same `token`: a
   * cluster then stores the rows once.
   */
  async insert(
    table: string,
    rows: Iterable<object>,
    token?: string,
    leastTimeoutMs = writeTimeoutMs,
  ): Promise<void> {
    const { columns, texts, count } = await inTexts(rows)
    if (count === 0) return
    const timeoutMs = leastTimeoutMs + count * rowTimeoutMs
    const write = async (abort_signal: AbortSignal): Promise<void> => {
      const { stream } = await this.#client.exec({
        query: `INSERT INTO ${table} (${columns.join(', ')}) FORMAT JSONCompactEachRow`,
        values: Readable.from(texts),
        // A server's profile must not make the insert asynchronous.
        clickhouse_settings: {
          async_insert: 0,
          ...(this.cluster !== undefined && quorumSettings(timeoutMs, token)),
        },
        abort_signal,
      })
      await finished(stream.resume())
    }
    try {
      await timed(timeoutMs, (signal) => whenReplicasAreReady(signal, () => write(signal)))
      this.#storedMs = monotonicMs()
    } catch (error) {
      this.#storedMs = Number.NEGATIVE_INFINITY
      throw error
    }
  }

  /** For an insert of blocks that arrive one by one; the caller drops them in the end. */
  collectBlocks(): CollectedBlocks {
    return this.#incoming === undefined
      ? new BlocksInMemory()
      : new BlocksInFile(join(this.#incoming, newId('blocks_')), this.#released)
  }

  /** It may be repeated. Resolves when the rows are stored, not when they are synced to disk. */
  async insertCollected(table: string, blocks: CollectedBlocks): Promise<void> {
    const { file } = blocks
    if (file === undefined) return this.#insertBody(`INSERT INTO ${table} FORMAT Native`, await blocks.all())
    const quoted = file.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
    await this.command(`INSERT INTO ${table} FROM INFILE '${quoted}' FORMAT Native`, {}, batchTimeoutMs)
  }

  /** Inserts blocks that are all there. */
  async insertBlocks(table: string, blocks: readonly Uint8Array[]): Promise<void> {
    const collected = this.collectBlocks()
    try {
      for (const block of blocks) await collected.add(block)
      await this.insertCollected(table, collected)
    } finally {
      await collected.drop()
    }
  }

  #insertBody(query: string, body: readonly Uint8Array[]): Promise<void> {
    return timed(batchTimeoutMs, async (abort_signal) => {
      const { stream } = await this.#client.exec({
        query,
        values: Readable.from(body),
        clickhouse_settings: { async_insert: 0, ...(this.cluster !== undefined && shardInsertSettings) },
        abort_signal,
      })
      await finished(stream.resume())
    })
  }

  /** The answer as text for people; read-only statements. A format named in the query wins. */
  async text(sql: string, format: TextFormat): Promise<string> {
    // The embedded engine writes the named file even in read-only mode.
    if (/\boutfile\b/i.test(sql))
      throw badRequest("A query can't have INTO OUTFILE: redirect the command's output instead.")
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
 * Gives up after a timeout. An HTTP request is aborted; an embedded statement continues, which is harmless because
 * every write of Weir can be repeated.
 */
async function timed<T>(timeoutMs: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  try {
    const message = `ClickHouse did not answer within ${timeoutMs / 1000} s.`
    return await within(timeoutMs, call(controller.signal), message)
  } catch (error) {
    throw explained(error)
  } finally {
    controller.abort()
  }
}

/**
 * Tries again while a server of a cluster is not ready: it lacks rows that others confirmed, or another process inserts into
 * the same table. One server never answers so.
 */
async function whenReplicasAreReady<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (signal.aborted || !isReplicaNotReady(error)) throw error
    }
    await sleep(replicaPauseMs, signal)
  }
}

/** Rows as JSONCompactEachRow, with pauses, so that very many do not block the event loop. */
async function inTexts(rows: Iterable<object>) {
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
