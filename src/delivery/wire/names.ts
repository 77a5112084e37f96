/**
 * Start here: every name that two sides of NATS must agree on (streams, subjects, buckets, headers), with its publishers
 * and readers. This room is the format of what goes over NATS; it never knows who produces or handles it. This file
 * imports nothing, so that a file that needs only a name, such as the table of permissions, loads nothing else.
 */

// --- input ---

// Connection records, and the packs of deliveries, are in the streams of `partitions.ts`.
/** The API publishes records here that were dead letters. */
export const resentRecordsSubject = 'weir.records.weir.resent'
/** Records that accounts publish over the API. */
export const publishedRecordsSubject = 'weir.records.api.published'
/** The revision of the configuration that the API accepted them with: a pipeline that has an older one waits for it. */
export const revisionHeader = 'Weir-Revision'

/**
 * Of a message with records of the past, which are logged by their own times: what is made of them besides (`weir publish
 * --history`).
 */
export const historyHeader = 'Weir-History'
/** `log`: nothing; `deliver`: events, for every subscription that asks for them. */
export type History = 'log' | 'deliver'
/** Undefined: the records are of now. A word of a later version delivers nothing. */
export function historyOf(headers: { get(name: string): string } | undefined): History | undefined {
  const word = headers?.get(historyHeader)
  if (!word) return undefined
  return word === 'deliver' ? 'deliver' : 'log'
}

/** Audit events of the API, which publishes them; pipelines read. */
export const auditStream = 'WEIR_AUDIT'
export const auditSubject = (accountId: string): string => `weir.events.audit.${accountId}`
/** Headers of a message of audit events: pipelines find the account, the API what it has already published. */
export const auditHeaders = { account: 'Weir-Account', version: 'Weir-Version', part: 'Weir-Part' } as const

/** Operator events, which Weir announces; pipelines read them with the audit events. */
export const operatorSubject = (accountId: string, topic: string): string =>
  `weir.events.operator.${accountId}.${topic}`
export const operatorSubjects = 'weir.events.operator.>'
/** The place of an operator event among those of its topic. */
export const operatorPositionHeader = 'Weir-Position'

/** Audit events of other services, which publish them; pipelines read. */
export const auditInStream = 'WEIR_AUDIT_IN'
/** Followed by the object and the action. */
export const auditInSubjectHead = 'weir.audit.'
export const auditInSubjects = `${auditInSubjectHead}>`

/** The durable consumer that all pipelines share, one on each input stream. */
export const inputConsumer = 'pipeline'

/** The durable consumer of a replay, or of a catch-up, on the stream of records, which all pipelines share. */
export const replayConsumer = (replayId: string): string => replayId

// --- from the pipeline to delivery ---

/** Headers of a pack: the number of events, and the input messages that caused them. */
export const packHeaders = {
  events: 'Weir-Events',
  stream: 'Weir-Stream',
  since: 'Weir-Stream-Since',
  segments: 'Weir-Segments',
  /** The id of a pack that was stored again, for another consumer of its stream. */
  pack: 'Weir-Pack',
  /** When such a pack was stored first: milliseconds since the epoch. */
  storedAt: 'Weir-Stored-At',
  /** The traces that are followed into it (`pack-trace.ts`). */
  traces: 'Weir-Traces',
} as const

/** Pipelines and deliverers say which destinations get consumers of their own; lost if no deliverer listens. */
export const ownConsumersSubject = 'weir.live.consumers'

/** Pipelines tell each other that they are there (`pipeline/preferred-partitions.ts`), if there are several partitions. */
export const pipelinesSubject = 'weir.live.pipelines'

/** Each process of a role answers what it is, and which formats it reads and writes (`role-formats.ts`). */
export const rolesSubject = 'weir.live.roles'

/** Counts. Pipelines and deliverers publish, every process that shows the books reads. */
export const ledgerStream = 'WEIR_BOOKS'
export const ledgerSubject = 'weir.books'

// --- the decision log ---

/**
 * Rows of decisions, of expressions without a result and of attempts to deliver, as `blocks/block-writer.ts` writes
 * them. Pipelines and deliverers publish, the API stores them in ClickHouse. A full stream refuses more: rows of the
 * log are lost then, and counted.
 */
export const decisionLogStream = 'WEIR_DECISIONS'
export const decisionLogSubjects = 'weir.log.>'
/** The durable consumer that all APIs share. */
export const decisionLogConsumer = 'log'
/** Pipelines publish; the API reads, for the log and for those who watch. */
export const decisionRowsSubject = 'weir.log.decisions'
/** Deliverers publish; the API reads. */
export const deliveryRowsSubject = 'weir.log.deliveries'
/** Pipelines publish: expressions without a result. The API reads. */
export const failureRowsSubject = 'weir.log.failures'
/** Header of such a message: the number of rows. */
export const rowsHeader = 'Weir-Rows'

// --- probes ---

/** Each role stores a message here if nothing else shows that NATS stores (`process/write-watch.ts`). No one reads them. */
export const probeStream = 'WEIR_PROBE'
export const storeProbeSubject = (role: string): string => `weir.probe.${role}`

// --- those who watch ---

/** The API names the accounts and destinations that someone watches (`watched.ts`), every two seconds. */
export const watchedSubject = 'weir.live.watched'
/** Pipelines publish rows of watched accounts that the decision log does not take; lost if nobody listens. */
export const watchedRowsSubject = 'weir.live.decisions'
/** Deliverers publish attempts to deliver to watched destinations; lost if nobody listens. */
export const watchedDeliveriesSubject = 'weir.live.deliveries'

// --- dead letters ---

/** Invalid records and audit events, and undeliverable events. The API, operators and the demo read. */
export const deadLetterStream = 'WEIR_DEADLETTER'
export const deadLetterSubjects = 'weir.deadletter.>'
/** Pipelines publish. */
export const deadRecordsSubject = 'weir.deadletter.records'
/** Pipelines publish. */
export const deadAuditsSubject = 'weir.deadletter.audit'
/** Deliverers publish. */
export const deadEventsSubject = 'weir.deadletter.events'
/**
 * Which lines of a message with many dead letters were sent again or dropped (`shared-dead-letters.ts`). The API publishes.
 */
export const removedLettersSubject = (sequence: number | '*'): string => `weir.deadletter.removed.${sequence}`
/** Names the encoding of the bytes of a message of records, and of a dead letter that is such a message; missing: none. */
export const encodingHeader = 'Weir-Encoding'
/** Headers of a dead letter: the reason, and its origin. */
export const deadLetterHeaders = {
  reason: 'Weir-Reason',
  /** Set if the message holds many letters: their number, and where their index begins. The others are the first one's. */
  letters: 'Weir-Letters',
  index: 'Weir-Index',
  /** Set if the stored bytes were compressed: those of letters of a message that was compressed when it came. */
  storedAs: 'Weir-Stored-As',
  /** Set if the bytes were truncated to fit a message. */
  originalSize: 'Weir-Original-Size',
  /** Origin of a record or an audit event. */
  stream: 'Weir-Stream',
  sequence: 'Weir-Sequence',
  line: 'Weir-Line',
  subject: 'Weir-Subject',
  /** Origin of an event. Its account is missing in letters of earlier versions. */
  destination: 'Weir-Destination',
  eventId: 'Weir-Event-Id',
  account: 'Weir-Account',
} as const

// --- events for others ---

/**
 * Events for destinations of the kind `nats` without servers of their own: Weir publishes them for whoever listens, and
 * reads none. An account can't leave what begins with its id.
 */
export const eventSubject = (accountId: string, subject: string): string => `events.${accountId}.${subject}`
export const eventSubjects = 'events.>'

// --- requests ---

/** Ingress nodes ask about connections; `decide` answers. */
export const connectionSubject = 'weir.decide'
/** Tunnel servers ask about agents; `decide` answers. */
export const agentSubject = 'weir.decide.agent'
/** Operators decide about a hostname of an abuse report: `{report_id, hostname, status}`. The API answers. */
export const abuseDecisionSubject = 'weir.abuse.decide'
/** The API asks for a destination's status; each deliverer answers with its lane's state, or `null` without a lane. */
export const statusSubject = 'weir.status.destination'
/** The same for the last requests to a destination (`delivery-attempts.ts`). */
export const attemptsSubject = 'weir.status.attempts'
/** The API asks for the states of destinations that are not healthy, and of those that it names: ids as JSON. */
export const statesSubject = 'weir.status.states'
/** The API tells deliverers that a destination may work again: they try now, and answer as about its status before. */
export const probeSubject = 'weir.status.probe'
/** The API names packs by their ids, as JSON; each deliverer answers with those that it has in hand. */
export const heldPacksSubject = 'weir.status.held'
/** The same as about one destination's status for many: ids as JSON; each deliverer answers with its lanes by their ids. */
export const statusesSubject = 'weir.status.destinations'
/** The API asks every process which version it is, and how it is (`process-report.ts`). */
export const processesSubject = 'weir.status.processes'
/** All that the API asks deliverers, and other processes. */
export const statusSubjects = 'weir.status.*'
/** API processes share their counts of requests and failed logins; no other user of NATS may publish. */
export const usageSubject = 'weir.api.usage'

// --- buckets ---

/** The store's buckets (keys: `view/keys.ts`). The API writes; all roles read `config`, deliverers `secrets`. */
export const bucketNames = {
  config: 'weir_config',
  secrets: 'weir_secrets',
  heads: 'weir_heads',
  claims: 'weir_claims',
  idempotency: 'weir_idempotency',
} as const

/** Trials and their results, for an hour. Only the API reads and writes. */
export const trialsBucket = 'weir_trials'

/** Replays (`replays.ts`), for some days. The API and pipelines write and read. */
export const replaysBucket = 'weir_replays'

/** Destinations that are behind (`behind.ts`), until they have caught up. Pipelines write and read, the API reads. */
export const behindBucket = 'weir_behind'

/** The last use of each API key and tunnel credential. The API and `decide` write, the API reads. */
export const keyUseBucket = 'weir_key_use'

/** Sessions of the web console, sealed. Only the API writes and reads. */
export const sessionsBucket = 'weir_sessions'

/**
 * How the last fetches of IP lists from their sources went, and which process does the next. Only the API writes and reads.
 */
export const feedsBucket = 'weir_feeds'

/** Buckets that the API alone makes. */
export const apiBuckets = [trialsBucket, keyUseBucket, sessionsBucket, feedsBucket]

/** Snapshots of the books. Processes that keep books write and read. */
export const booksBucket = 'weir_books'
