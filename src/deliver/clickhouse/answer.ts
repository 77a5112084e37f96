/** A request to ClickHouse, and what its answer means. */
import { Readable } from 'node:stream'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import type { Fault } from '../destination.js'
import { fault } from '../faults.js'
import { faultOfAnswer } from './faults.js'

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

/** An insert that succeeded has no answer but its headers; another server's 200 must not pass for it. */
export const isInserted = ({ status, text, isClickhouse }: Answer): boolean =>
  status === 200 && text === '' && isClickhouse

export const notClickhouse = fault(
  'configuration',
  'NotClickHouse',
  'The server does not answer as ClickHouse does.',
)

export const faultIn = ({ status, text }: Answer): Fault =>
  status === 200 && !text.includes('DB::Exception') ? notClickhouse : faultOfAnswer(status, text)
