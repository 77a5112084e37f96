/**
 * Rows of the decision log, beside the path of events: they are published in batches that nothing waits for. What NATS
 * does not take at the first attempt is lost and counted; events are never delayed by it.
 */
import { after, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { AddressSlot } from '../core/ip.js'
import { decisionBatchAgeMaxMs, decisionBatchBytes, decisionBatchesInFlightMax } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Judgement } from '../evaluate/judgement.js'
import type { Nats } from '../nats/nats.js'
import type { TrafficRecord } from '../record/traffic-record.js'
import { type DecisionRow, writeDecisionRow } from '../wire/decision-rows.js'
import { decisionRowsSubject, rowsHeader, watchedRowsSubject } from '../wire/names.js'
import { RowWriter } from '../wire/rows.js'
import type { WatchedAccounts } from './watched-accounts.js'

/** Where a record was read. */
interface RecordPlace {
  readonly storedAtMs: number
  /** The message in the stream of records. */
  readonly sequence: number
  /** From 1. */
  readonly line: number
}

interface DecisionLogOptions {
  readonly nats: Pick<Nats, 'publish' | 'emit'>
  /** Which decisions are logged: all, those that stopped something, or none. */
  readonly mode: 'all' | 'blocked' | 'off'
  /** Decisions of these accounts are published in any mode. */
  readonly watched: Pick<WatchedAccounts, 'has'>
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost'>
}

export class DecisionLog {
  readonly #options: DecisionLogOptions
  readonly #logged = new Batch((data, rows) => this.#store(data, rows))
  readonly #watched = new Batch((data) => this.#options.nats.emit(watchedRowsSubject, data))
  readonly #client = new AddressSlot()
  readonly #underWay = new Set<Promise<void>>()

  constructor(options: DecisionLogOptions) {
    this.#options = options
  }

  /** A record without an account has no row. */
  add(judgement: Judgement, place: RecordPlace): void {
    const { accountId } = judgement.endpoint
    if (accountId === undefined) return
    const batch = this.#batchFor(accountId, judgement)
    if (batch === undefined) return
    this.#client.read(judgement.record.conn.client_ip)
    writeDecisionRow(batch.writer, rowOf(accountId, judgement, place), this.#client)
    batch.added()
  }

  #batchFor(accountId: string, { decision }: Judgement): Batch | undefined {
    const { mode, watched } = this.#options
    if (mode === 'all' || (mode === 'blocked' && decision !== 'allow')) return this.#logged
    return watched.has(accountId) ? this.#watched : undefined
  }

  #store(data: Uint8Array, rows: number): void {
    if (this.#underWay.size >= decisionBatchesInFlightMax) {
      this.#lost(rows, 'NATS takes rows too slowly.')
      return
    }
    const storing = this.#options.nats
      .publish(decisionRowsSubject, data, { headers: { [rowsHeader]: String(rows) }, triesMax: 1 })
      .then(
        () => {},
        (error) => this.#lost(rows, messageOf(error)),
      )
      .finally(() => this.#underWay.delete(storing))
    this.#underWay.add(storing)
  }

  #lost(rows: number, reason: string): void {
    this.#options.occurrences.decisionRowsLost({ reason }, rows)
  }

  /** Publishes what is left; waits for batches under way. */
  async close(): Promise<void> {
    this.#logged.publish()
    this.#watched.publish()
    await Promise.all(this.#underWay)
  }
}

/** Rows that are published together. */
class Batch {
  readonly writer = new RowWriter(decisionBatchBytes + decisionBatchBytes / 8)
  readonly #take: (data: Uint8Array, rows: number) => void
  #due: Timer | undefined

  constructor(take: (data: Uint8Array, rows: number) => void) {
    this.#take = take
  }

  /** A row was written. */
  added(): void {
    if (this.writer.byteLength >= decisionBatchBytes) this.publish()
    else this.#due ??= after(decisionBatchAgeMaxMs, () => this.publish())
  }

  publish(): void {
    this.#due?.stop()
    this.#due = undefined
    const { rows } = this.writer
    if (rows > 0) this.#take(this.writer.take(), rows)
  }
}

function rowOf(
  accountId: string,
  judgement: Judgement,
  { storedAtMs, sequence, line }: RecordPlace,
): Omit<DecisionRow, 'clientIp'> {
  const { record, decision, endpoint, geo } = judgement
  const { type: decidedBy, id, name, ruleId } = judgement.decidedBy
  return {
    accountId,
    at: storedAtMs,
    recordId: record.record_id,
    type: record.type,
    edgeId: endpoint.edgeId ?? '',
    routeId: endpoint.routeId ?? '',
    serverName: record.conn.server_name ?? '',
    serverPort: record.conn.server_port ?? 0,
    country: geo.country_code ?? '',
    asn: geo.asn ?? 0,
    decision,
    decidedBy,
    decidedById: id ?? '',
    policy: decidedBy === 'traffic_policy' ? (name ?? '') : '',
    ruleId: ruleId ?? '',
    revision: judgement.revision,
    ...bytesOf(record),
    sequence,
    line,
  }
}

function bytesOf(record: TrafficRecord): { bytesIn: number; bytesOut: number } {
  switch (record.type) {
    case 'tcp_connection':
      return { bytesIn: record.conn.bytes_in ?? 0, bytesOut: record.conn.bytes_out ?? 0 }
    case 'http_request': {
      const { request, response } = record.http ?? {}
      return { bytesIn: request?.body_length ?? 0, bytesOut: response?.body_length ?? 0 }
    }
  }
}
