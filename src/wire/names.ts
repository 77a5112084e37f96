/**
 * Every name that two sides of NATS have to agree on: streams, subjects, buckets and headers, with who publishes and who
 * reads. It imports nothing, so that whoever only needs a name (the table of permissions, for one) loads nothing else.
 */

// --- input ---

/** Connection records. Ingress nodes publish, pipelines read. */
export const recordsStream = 'WEIR_RECORDS'
export const recordsSubjects = 'weir.records.>'

/** Audit events of the API, which publishes them; pipelines read. */
export const auditStream = 'WEIR_AUDIT'
export const auditSubject = (accountId: string): string => `weir.events.audit.${accountId}`
/** Headers of a message of audit events: the API finds what it published already, pipelines the account. */
export const auditHeaders = { account: 'Weir-Account', version: 'Weir-Version', part: 'Weir-Part' } as const

/** Audit events of other services, which publish them; pipelines read. */
export const auditInStream = 'WEIR_AUDIT_IN'
/** The object and what happened to it follow. */
export const auditInSubjectHead = 'weir.audit.'
export const auditInSubjects = `${auditInSubjectHead}>`

/** The durable consumer that all pipelines share, one on each input stream. */
export const inputConsumer = 'pipeline'

// --- from the pipeline to delivery ---

/** Packs of events. Pipelines publish, deliverers read; the janitor of a pipeline removes what nobody will read. */
export const deliveriesStream = 'WEIR_DELIVERIES'
export const deliverySubject = (destinationId: string): string => `weir.deliveries.${destinationId}`
export const deliverySubjects = deliverySubject('>')
/** Headers of a pack: how many events, and which input messages they are of. */
export const packHeaders = {
  events: 'Weir-Events',
  stream: 'Weir-Stream',
  since: 'Weir-Stream-Since',
  segments: 'Weir-Segments',
} as const

/** What was counted. Pipelines and deliverers publish, every process that shows the books reads. */
export const ledgerStream = 'WEIR_BOOKS'
export const ledgerSubject = 'weir.books'

// --- dead letters ---

/** Records, audit events and events that nothing can be done with. Operators read, and Weir's demo. */
export const deadLetterStream = 'WEIR_DEADLETTER'
export const deadLetterSubjects = 'weir.deadletter.>'
/** Pipelines publish. */
export const deadRecordsSubject = 'weir.deadletter.records'
/** Pipelines publish. */
export const deadAuditsSubject = 'weir.deadletter.audit'
/** Deliverers publish. */
export const deadEventsSubject = 'weir.deadletter.events'
/** Headers of a dead letter: why it was set aside, and where it came from. */
export const deadLetterHeaders = {
  reason: 'Weir-Reason',
  /** Of bytes that were cut to fit a message. */
  originalSize: 'Weir-Original-Size',
  /** Of input. */
  stream: 'Weir-Stream',
  sequence: 'Weir-Sequence',
  line: 'Weir-Line',
  subject: 'Weir-Subject',
  /** Of an event. */
  destination: 'Weir-Destination',
  eventId: 'Weir-Event-Id',
} as const

// --- requests and their answers ---

/** Ingress nodes ask about connections; `decide` answers. */
export const connectionSubject = 'weir.decide'
/** Tunnel servers ask about agents; `decide` answers. */
export const agentSubject = 'weir.decide.agent'
/** Operators decide about a hostname of an abuse report: `{report_id, hostname, status}`. The API answers. */
export const abuseDecisionSubject = 'weir.abuse.decide'
/** The API asks how a destination is doing; every deliverer answers with its lane's state, or `null` if it knows none. */
export const statusSubject = 'weir.status.destination'
/** API processes publish what they counted of requests and failed logins, for one another; no other user of NATS may. */
export const usageSubject = 'weir.api.usage'

// --- buckets ---

/** What the store keeps (`store/keys.ts` has the keys). The API writes; all roles read `config`, deliverers `secrets`. */
export const bucketNames = {
  config: 'weir_config',
  secrets: 'weir_secrets',
  heads: 'weir_heads',
  claims: 'weir_claims',
  idempotency: 'weir_idempotency',
} as const

/** Snapshots of the books. Whoever keeps books writes and reads. */
export const booksBucket = 'weir_books'

// --- all of them ---

/** The streams that hold traffic: what is published to one that is full is refused. */
export const trafficStreams = [
  recordsStream,
  deliveriesStream,
  deadLetterStream,
  auditStream,
  auditInStream,
  ledgerStream,
]
