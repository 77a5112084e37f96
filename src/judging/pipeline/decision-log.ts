/** Rows of decisions, for the decision log and for watchers; events never wait for them. */

import { outsideOf, ownTimeOf } from '../../delivery/record/own-time.js'
import { normalizeMethod } from '../../delivery/record/spelling.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import {
  DecisionRows,
  type LoggedVerdict,
  loggedPathCharsMax,
  noAccount,
  type RecordRow,
  SourcedRows,
} from '../../delivery/wire/decision-rows.js'
import { isLogged, type LogMode, LogPublisher, RowBatch } from '../../delivery/wire/log-publisher.js'
import { decisionRowsSubject, watchedRowsSubject } from '../../delivery/wire/names.js'
import type { Watched } from '../../delivery/wire/watched.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { ChallengerDecision, DecidedBy } from '../../words/event/define.js'
import type { Challengers } from '../evaluate/challenger.js'
import type { Judgement } from '../evaluate/judgement.js'

/** The place that a record was read from. */
interface RecordPlace {
  readonly storedAtMs: number
  /** The message in the stream of records. */
  /** The partition of the records, and the message in its stream. */
  readonly partition: number
  readonly sequence: number
  /** From 1. */
  readonly line: number
  /** Is it a record of the past? */
  readonly isHistory?: boolean
}

export interface DecisionLogOptions {
  readonly nats: Pick<Nats, 'publish' | 'emit'>
  /** `blocked`: decisions other than to allow. */
  readonly mode: LogMode
  /** Decisions of these accounts are published in any mode. */
  readonly watched: Pick<Watched, 'has'>
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost'>
}

export class DecisionLog {
  readonly #options: DecisionLogOptions
  readonly #logged: LogPublisher<DecisionRows>
  readonly #history: LogPublisher<SourcedRows>
  readonly #watched = new RowBatch(new DecisionRows(), (data) =>
    this.#options.nats.emit(watchedRowsSubject, data),
  )

  constructor(options: DecisionLogOptions) {
    this.#options = options
    this.#logged = new LogPublisher({ ...options, rows: new DecisionRows(), subject: decisionRowsSubject })
    const past = new SourcedRows('history')
    this.#history = new LogPublisher({ ...options, rows: past, subject: decisionRowsSubject })
  }

  /** The rows of records that belong to no account have none: operators see them. */
  add(judgement: Judgement, place: RecordPlace, challengers?: Pick<Challengers, 'find'>): void {
    const { accountId = noAccount } = judgement.endpoint
    const { mode, watched } = this.#options
    if (place.isHistory) {
      this.#addPast(accountId, judgement, place)
      return
    }
    if (mode === 'off' && !watched.has(accountId)) return
    const challenger = challengers?.find(accountId, place.storedAtMs)
    const challenged = challenger && judgement.by(challenger)
    const isAllowed = judgement.decision === 'allow' && (challenged?.decision ?? 'allow') === 'allow'
    const batch = this.#batchFor(accountId, isAllowed)
    if (batch === undefined) return
    batch.collected.add(rowOf(accountId, judgement, place, challenged), judgement.client)
    batch.added()
  }

  /** No one who watches wants it, and no challenger is compared with it. */
  #addPast(accountId: string, judgement: Judgement, place: RecordPlace): void {
    if (!isLogged(this.#options.mode, judgement.decision !== 'allow')) return
    this.#history.batch.collected.add(rowOf(accountId, judgement, place), judgement.client)
    this.#history.batch.added()
  }

  /** `isAllowed`: by the configuration in force and by a challenger, if one is compared. */
  #batchFor(accountId: string, isAllowed: boolean): RowBatch<DecisionRows> | undefined {
    const { mode, watched } = this.#options
    if (isLogged(mode, !isAllowed)) return this.#logged.batch
    return watched.has(accountId) ? this.#watched : undefined
  }

  /** Publishes what is left; waits for batches under way. */
  async close(): Promise<void> {
    this.#watched.publish()
    await Promise.all([this.#logged.close(), this.#history.close()])
  }
}

export function rowOf(
  accountId: string,
  judgement: Judgement,
  { storedAtMs, partition, sequence, line }: RecordPlace,
  challenged?: ChallengerDecision,
): RecordRow {
  const { record, decision, decidedBy, endpoint, geo, shadow } = judgement
  const { bytesIn, bytesOut, method, path, status } = ofType(record)
  const ownMs = ownTimeOf(record)
  const outside = ownMs === undefined ? undefined : outsideOf(ownMs, storedAtMs)
  // Each record has a row: its values are set one by one, because a spread takes several times as long.
  return {
    accountId,
    at: storedAtMs,
    recordId: record.record_id,
    type: record.type,
    edgeId: endpoint.edgeId ?? '',
    routeId: endpoint.route?.id ?? '',
    serverName: record.conn.server_name ?? '',
    serverPort: record.conn.server_port ?? 0,
    country: geo.country_code ?? '',
    asn: geo.asn ?? 0,
    decision,
    decidedBy: decidedBy.type,
    decidedById: decidedBy.id ?? '',
    policy: policyNameOf(decidedBy),
    ruleId: decidedBy.ruleId ?? '',
    shadow: shadow === null ? undefined : { decision: shadow.decision, ...partOf(shadow.decidedBy) },
    challenger: challenged && {
      id: challenged.id,
      decision: challenged.decision,
      ...partOf(challenged.decidedBy),
    },
    revision: judgement.revision,
    sequence,
    line,
    bytesIn,
    bytesOut,
    method,
    path,
    status,
    partition,
    ownAt: ownMs === undefined || outside !== undefined ? storedAtMs : ownMs,
    ownTime: outside ?? (ownMs === storedAtMs ? 'same' : 'implied'),
  }
}

const policyNameOf = ({ type, name }: DecidedBy): string => (type === 'traffic_policy' ? (name ?? '') : '')

const partOf = (decidedBy: DecidedBy): Omit<LoggedVerdict, 'decision'> => ({
  decidedBy: decidedBy.type,
  decidedById: decidedBy.id ?? '',
  policy: policyNameOf(decidedBy),
  ruleId: decidedBy.ruleId ?? '',
})

type RowOfType = Pick<RecordRow, 'bytesIn' | 'bytesOut' | 'method' | 'path' | 'status'>

/** The values that each type of record has in members of its own. */
function ofType(record: TrafficRecord): RowOfType {
  switch (record.type) {
    case 'tcp_connection': {
      const { bytes_in, bytes_out } = record.conn
      return { bytesIn: bytes_in ?? 0, bytesOut: bytes_out ?? 0, method: '', path: '', status: '' }
    }
    case 'http_request': {
      const { request, response } = record.http ?? {}
      return {
        bytesIn: request?.body_length ?? 0,
        bytesOut: response?.body_length ?? 0,
        method: normalizeMethod(request?.method) ?? '',
        path: request?.url?.path?.slice(0, loggedPathCharsMax) ?? '',
        status: String(response?.status_code ?? ''),
      }
    }
  }
}
