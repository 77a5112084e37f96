/**
 * The client of one destination, and what an answer says. Loaded with the first request: the kind imports it when it is
 * needed.
 */
import { Readable } from 'node:stream'
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client'
import { version } from '../../../ground/core/package.js'
import type { SenderDeps } from '../kind/sender.js'

interface Access {
  readonly database?: string
  readonly auth?: { readonly username: string; readonly password?: string }
}

/** More than the requests of one destination at once. */
const socketsMax = 8
/** ClickHouse closes idle connections after 3 s or more. */
const idleSocketMs = 2_500

export function openClient(url: string, { auth, database }: Access, deps: SenderDeps): ClickHouseClient {
  const agent = { keepAlive: true, maxSockets: socketsMax, timeout: idleSocketMs }
  return createClient({
    url,
    username: auth?.username ?? 'default',
    password: auth?.password ?? '',
    ...(database !== undefined && { database }),
    application: `weir/${version}`,
    http_agent: url.startsWith('https:') ? deps.networks.httpsAgent(agent) : deps.networks.httpAgent(agent),
    request_timeout: deps.requestTimeoutMs,
    log: { level: ClickHouseLogLevel.OFF },
  })
}

/** More of an answer is not read. */
const answerBytesMax = 64 * 1024

export interface Answer {
  readonly status: number
  readonly text: string
  readonly queryId: string
  /** Does it name the query, as ClickHouse does? */
  readonly isClickhouse: boolean
}

export async function ask(
  client: ClickHouseClient,
  query: string,
  rows: Buffer | undefined,
  settings: ClickHouseSettings,
  abort: AbortSignal,
): Promise<Answer> {
  const { stream, query_id, response_headers, http_status_code } = await client.exec({
    query,
    ...(rows !== undefined && { values: Readable.from([rows], { objectMode: false }) }),
    clickhouse_settings: { ...settings, wait_end_of_query: 1 },
    abort_signal: abort,
    // Errors are read here, so that no answer is larger than what is read of it.
    ignore_error_response: true,
    decompress_response_stream: false,
  })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer)
    bytes += chunk.length
    if (bytes > answerBytesMax) break
  }
  const headers = response_headers ?? {}
  const hasFailed = headers['x-clickhouse-exception-code'] !== undefined
  const status = http_status_code ?? 0
  return {
    status: hasFailed && status === 200 ? 500 : status,
    text: Buffer.concat(chunks).toString(),
    queryId: query_id,
    isClickhouse: headers['x-clickhouse-query-id'] !== undefined,
  }
}
