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
import { writeDecisionRow } from '../wire/decision-rows.js'
import { decisionRowsSubject, rowsHeader } from '../wire/names.js'
import { RowWriter } from '../wire/rows.js'

/** Where a record was read. */
interface RecordPlace {
  readonly storedAtMs: number
  /** Of the message in the stream of records. */
  readonly sequence: number
  /** From 1. */
  readonly line: number
}

interface DecisionLogOptions {
  readonly nats: Pick<Nats, 'publish'>
  /** Which decisions have rows: all, or those that stopped something. */
  readonly mode: 'all' | 'blocked'
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost'>
}

export class DecisionLog {
  readonly #options: DecisionLogOptions
  readonly #rows = new RowWriter(decisionBatchBytes + decisionBatchBytes / 8)
  readonly #client = new AddressSlot()
  readonly #underWay = new Set<Promise<void>>()
  #due: Timer | undefined

  constructor(options: DecisionLogOptions) {
    this.#options = options
  }

  /** A record without an account has no row. */
  add(judgement: Judgement, { storedAtMs, sequence, line }: RecordPlace): void {
    const { record, decision, endpoint } = judgement
    const { accountId, edgeId = '', routeId = '' } = endpoint
    if (accountId === undefined || (decision === 'allow' && this.#options.mode === 'blocked')) return
    const { conn } = record
    const { country_code = '', asn = 0 } = judgement.geo
    const { type: decidedBy, id, name, ruleId } = judgement.decidedBy
    const row = {
      accountId,
      at: storedAtMs,
      recordId: record.record_id,
      type: record.type,
      edgeId,
      routeId,
      serverName: conn.server_name ?? '',
      serverPort: conn.server_port ?? 0,
      country: country_code,
      asn,
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
    this.#client.read(conn.client_ip)
    writeDecisionRow(this.#rows, row, this.#client)
    if (this.#rows.byteLength >= decisionBatchBytes) this.#publish()
    else this.#due ??= after(decisionBatchAgeMaxMs, () => this.#publish())
  }

  #publish(): void {
    this.#due?.stop()
    this.#due = undefined
    const { rows } = this.#rows
    const data = this.#rows.take()
    if (rows === 0) return
    if (this.#underWay.size >= decisionBatchesInFlightMax) {
      this.#lost(rows, 'NATS takes rows too slowly.')
      return
    }
    const publishing = this.#options.nats
      .publish(decisionRowsSubject, data, { headers: { [rowsHeader]: String(rows) }, triesMax: 1 })
      .then(
        () => {},
        (error) => this.#lost(rows, messageOf(error)),
      )
      .finally(() => this.#underWay.delete(publishing))
    this.#underWay.add(publishing)
  }

  #lost(rows: number, reason: string): void {
    this.#options.occurrences.decisionRowsLost({ reason }, rows)
  }

  /** Publishes what is left; waits for batches under way. */
  async close(): Promise<void> {
    this.#publish()
    await Promise.all(this.#underWay)
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
