/** The records that the demo publishes after its report, so that there is something to watch. */
import { isoMillis, now, sleep } from '../../ground/core/clock.js'
import type { Nats } from '../../ground/nats/nats.js'
import { subject } from './publish.js'
import { linesOf, parseRecordLine, type RecordView } from './records-file.js'
import type { Scenario } from './scenario.js'

export const recordsPerSecond = 20
const ticksPerSecond = 2
const linesKept = 2_000
/** One record a minute is wrong, and becomes a dead letter, which can be mended and sent again. */
const recordsPerBadOne = 60 * recordsPerSecond

interface LiveOptions {
  readonly nats: Pick<Nats, 'publish'>
  readonly file: string
  /** A line as the ingress node publishes it. */
  readonly textOf: (line: string) => string
  /** The account that sees bad records, and those of names that no edge serves. */
  readonly accountId: string
  readonly scenario: Pick<Scenario, 'accounts'>
}

/** Publishes the first records of the file again and again, as if they had just ended, until `stopping` is aborted. */
export async function keepPublishing(options: LiveOptions, stopping: AbortSignal): Promise<void> {
  const { nats, file, textOf } = options
  const records: RecordView[] = []
  for await (const line of linesOf(file)) {
    const record = parseRecordLine(textOf(line))
    // Bad records come at their own pace.
    if (record === undefined || typeof record.conn?.server_port === 'string') continue
    if (records.push(record) === linesKept) break
  }
  const renew = renewed(options)
  for (let count = 0; !stopping.aborted; await sleep(1_000 / ticksPerSecond, stopping)) {
    const texts = Array.from({ length: recordsPerSecond / ticksPerSecond }, () => {
      count += 1
      return JSON.stringify(renew(records[count % records.length]!, count, now()))
    })
    await nats.publish(subject, texts.join('\n'), { msgId: `demo-live-${count}`, signal: stopping })
  }
}

/** Makes the record number `count`, counted from 1, that ends now. */
export function renewed({ accountId, scenario }: Pick<LiveOptions, 'accountId' | 'scenario'>) {
  const served = new Set(
    scenario.accounts.flatMap(({ edges }) => edges.flatMap(({ hostports }) => hostports)),
  )
  const account = { account_id: accountId }
  return (record: RecordView, count: number, nowMs: number): object => {
    const { conn = {}, edge_id } = record
    const isBad = count % recordsPerBadOne === 0
    const isServed = edge_id !== undefined || served.has(`${conn.server_name}:${conn.server_port}`)
    return {
      ...record,
      ...(isServed && !isBad ? {} : account),
      record_id: `live-${count}`,
      conn: { ...conn, ...timesOf(conn, nowMs), ...(isBad ? { server_port: 'ssh' } : {}) },
    }
  }
}

/** The connection lasted as long as then. */
function timesOf({ start_ts, end_ts }: NonNullable<RecordView['conn']>, nowMs: number): object {
  const lastedMs = Date.parse(String(end_ts)) - Date.parse(String(start_ts))
  const start = { start_ts: isoMillis(nowMs - (Number.isFinite(lastedMs) ? Math.max(0, lastedMs) : 0)) }
  return end_ts === undefined ? start : { ...start, end_ts: isoMillis(nowMs) }
}
