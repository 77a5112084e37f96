/**
 * Start here: a client of the management API. Its operations and types come from the declarations that the API itself is
 * made from, so new kinds appear automatically:
 *
 *     const weir = openClient({ url: 'http://127.0.0.1:8080', token: 'weir_…' })
 *     const policy = await weir.ipPolicy.create({ description: 'the office' })
 *     const edge = await weir.tcpEdge.create({ hostports: ['ssh.example.com:22'] })
 *     await weir.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: [policy.id] })
 *     for await (const { id } of weir.tcpEdge.list({ filter: 'ip_restriction.enabled' })) console.log(id)
 *
 * It needs nothing but `fetch`. A request that the API refuses throws an `ApiError`.
 */

import type { RecordsByType, RecordType } from '../../delivery/record/traffic-record.js'
import type { DeliveryAttempt } from '../../delivery/wire/delivery-attempts.js'
import type { Static } from '../../ground/core/schema.js'
import type { FieldReference } from '../event/field-reference.js'
import type { shownSourceSchema, sourceChangesSchema, sourceSchema } from '../resource/event-subscription.js'
import type { AccountDraft } from '../shape/account-draft.js'
import type { AddressCheck } from '../shape/address-check.js'
import type { BacklogHistory } from '../shape/backlog-history.js'
import type { BatchRequest, BatchResults } from '../shape/batch.js'
import type { Change } from '../shape/decisions/change-schema.js'
import type { Decision } from '../shape/decisions/decision.js'
import type { DecisionName, LoggedDecision } from '../shape/decisions/logged-decision.js'
import type {
  DeliveryStatus,
  DestinationCheck,
  DestinationStatus,
  testEventSchema,
} from '../shape/delivery-status.js'
import type { DoctorReport } from '../shape/doctor.js'
import type { ExpressionFailures } from '../shape/expression-failure.js'
import type { Findings } from '../shape/finding.js'
import type { IamPolicy } from '../shape/iam-policy.js'
import type { IpPolicyCount, IpPolicyUses, RuleCounts } from '../shape/ip-policy-rules.js'
import type { LastTraffic } from '../shape/last-traffic.js'
import type { LiveDeadLetter, LiveDelivery } from '../shape/live.js'
import type { OverviewAnswer } from '../shape/overview.js'
import type { PolicyTestCoverage } from '../shape/policy-test-coverage.js'
import type { PolicyTestRuns, PolicyTestsToRun } from '../shape/policy-test-run.js'
import type { PublishedRecords } from '../shape/published-records.js'
import type { Replay, ReplayRequest } from '../shape/replay.js'
import type { Resumption } from '../shape/resumption.js'
import type { DeliveryStats, Stats } from '../shape/stats.js'
import type { SubscriptionCounts } from '../shape/subscription-counts.js'
import type { TracedRecord } from '../shape/traced-record.js'
import type { Trial } from '../shape/trial.js'
import { ChallengerClient } from './challengers.js'
import { type ChangesOptions, changesAt } from './changes.js'
import {
  Collection,
  type CreateOptions,
  kindOf,
  type TryOptions,
  type WriteOptions,
  writeQuery,
} from './collection.js'
import { DeadLetterClient } from './dead-letters.js'
import {
  type DecideOptions,
  type DecisionsOptions,
  type DecisionsPage,
  type DeliveryStatsOptions,
  decisionPages,
  type ExpressionFailuresOptions,
  linesOf,
  loggedDecisions,
  type StatsOptions,
  selectingQuery,
  tracedRecord,
  type WatchDecisionsOptions,
  type WatchOptions,
} from './decisions.js'
import { Http, type HttpOptions, type TraceHeaders } from './http.js'
import { type KindPaths, kindTable } from './kind-table.js'
import type { Changes, Kinds, NewResource, Resource } from './kinds.js'
import { ListEntriesClient } from './list-entries.js'
import { type RulesOptions, restoredRules, rulesOf, type UsedRule } from './rules.js'
import { SessionClient } from './session.js'
import { TargetClient } from './targets.js'

export { ApiError } from './api-error.js'
export type { TryOptions } from './collection.js'
export type {
  DecideOptions,
  DeliveryStatsOptions,
  StatsOptions,
  WatchDecisionsOptions,
  WatchOptions,
  WatchRate,
} from './decisions.js'

/** The kinds whose last traffic the log of decisions knows. */
export type TrafficKind = 'domain' | 'reservedAddr' | 'tlsCertificate'

interface PageOptions {
  readonly limit?: number
  readonly before_id?: string
}

export interface Client extends Kinds, ReturnType<typeof clientsOf> {
  /** The sources of an event subscription, by their types. */
  sources(subscriptionId: string): Collection<NewSource, SourceChanges, Source>
  /** The rules of an IP policy, newest first; with `countsSince`, how often each decided. */
  rules(policyId: string, options?: RulesOptions): AsyncGenerator<UsedRule, void, undefined>
  /** The edges, routes, IP restrictions and bouncers that refer to an IP policy. */
  ipPolicyUses(policyId: string): Promise<IpPolicyUses>
  /** The rules that contain an address, and who would allow or refuse it. */
  checkAddress(ip: string): Promise<AddressCheck>
  /** How many rules and uses IP policies have, newest first, in pages like those of their list. */
  ipPolicyCounts(page?: PageOptions): Promise<{ counts: IpPolicyCount[]; next_page_uri: string | null }>
  /**
   * When traffic last went to domains, addresses or domains with certificates, newest first, in pages like those of their
   * list.
   */
  lastTraffic(kind: TrafficKind, page?: PageOptions): Promise<LastTraffic>
  /** Replaces all rules of an IP policy as one atomic change. */
  replaceRules(policyId: string, rules: readonly NewRule[], options?: WriteOptions): Promise<RuleCounts>
  /** Puts all rules of an IP policy back as they were at a version of the account. */
  restoreRules(policyId: string, version: number, options?: WriteOptions): Promise<RuleCounts>
  /** Begins a trial of these rules, as all rules of the policy, on recorded traffic. */
  tryRules(policyId: string, rules: readonly NewRule[], options?: TryOptions): Promise<Trial>
  /** Begins a trial of changes of an IP restriction. */
  tryRestriction(id: string, changes: Changes<'ipRestriction'>, options?: TryOptions): Promise<Trial>
  /** Begins a trial of a subscription: the events that it would have made. */
  trySubscription(draft: NewResource<'eventSubscription'>, options?: TryOptions): Promise<Trial>
  /** Begins a trial of many resources at once: who would lose and who would gain access. */
  tryAccount(draft: AccountDraft, options?: TryOptions): Promise<Trial>
  /** The progress and the result of a trial, which are kept for an hour. */
  trial(id: string): Promise<Trial>
  cancelTrial(id: string): Promise<void>
  /** Sends the events of recorded traffic to a destination again. */
  replay(destinationId: string, request: ReplayRequest, options?: TestOptions): Promise<Replay>
  /** The replays of the last days, newest first. */
  replays(): Promise<{ replays: Replay[] }>
  /** A replay and its progress. */
  getReplay(id: string): Promise<Replay>
  cancelReplay(id: string): Promise<void>
  /** Nothing more is sent to the destination until it is resumed; events wait. */
  pauseDestination(id: string, options?: CreateOptions): Promise<Resource<'eventDestination'>>
  /** Ends a pause by hand; without one, delivery is tried now. `resumed` says what was done. */
  resumeDestination(
    id: string,
    options?: CreateOptions,
  ): Promise<Resource<'eventDestination'> & { resumed: Resumption }>
  /** Sends a test event; throws if the destination does not accept it. */
  sendTestEvent(destinationId: string, options?: TestOptions): Promise<Static<typeof testEventSchema>>
  /** A check whether events could be delivered to a destination, as far as its service shows without a write. */
  checkDestination(destinationId: string): Promise<DestinationCheck>
  /** The rights that a destination needs at AWS, as documents to copy. */
  iamPolicy(destinationId: string): Promise<IamPolicy>
  /** Whether all is well, and what needs a hand. */
  overview(): Promise<OverviewAnswer>
  /** Findings: parts of the configuration that can hardly be meant. */
  findings(options?: Pick<StatsOptions, 'time'>): Promise<Findings>
  /** Runs policy tests: these, or all of the account; against the present configuration, or a draft. */
  runPolicyTests(tests?: PolicyTestsToRun['tests'], draft?: AccountDraft): Promise<PolicyTestRuns>
  /** Coverage: the parts of the configuration that policy tests reach, and those that traffic reached. */
  policyTestCoverage(): Promise<PolicyTestCoverage>
  /** Every change of the account, newest first, also of deleted resources. */
  changes(options?: ChangesOptions): AsyncGenerator<Change, void, undefined>
  /** The decisions of the log, newest first. */
  decisions(options?: DecisionsOptions): AsyncGenerator<LoggedDecision, void, undefined>
  decisionPages(options?: DecisionsOptions): AsyncGenerator<DecisionsPage, void, undefined>
  /** A record by its id, or by the id of an event that it made: its decision, its events, what became of them. */
  record(id: string): Promise<TracedRecord>
  /** Sums of decisions by minute, hour or day. */
  stats(options?: StatsOptions): Promise<Stats>
  /** Policies and filters whose expressions had no result: by default, in the last 24 hours. */
  expressionFailures(options?: ExpressionFailuresOptions): Promise<ExpressionFailures>
  /** Sums of attempts to deliver, by destination. */
  deliveryStats(options?: DeliveryStatsOptions): Promise<DeliveryStats>
  /** The delivery status of a destination. */
  deliveryStatus(destinationId: string): Promise<DeliveryStatus>
  /** How many events waited for a destination over the last day. */
  backlogHistory(destinationId: string): Promise<BacklogHistory>
  /** Events that each source of a subscription produced and kept back, since the books began. */
  subscriptionCounts(subscriptionId: string): Promise<SubscriptionCounts>
  /** The last requests to a destination, newest first. */
  deliveryAttempts(destinationId: string): Promise<{ attempts: DeliveryAttempt[] }>
  /** The statuses of all destinations, newest first, in pages. */
  deliveryStatuses(page?: PageOptions): Promise<{
    statuses: DestinationStatus[]
    next_page_uri: string | null
  }>
  /** Every field of records and events, every name and function of expressions and of filters of decisions. */
  fields(): Promise<FieldReference & { readonly decisions: readonly DecisionName[] }>
  /** The decision about a connection or request, explained; with `revision`, the decision at that time. */
  decide(request: DecisionRequest, options?: DecideOptions): Promise<Decision>
  /** Publishes records of the account, as a part of this trace; `refused_count` of them were wrong. */
  publishRecords(
    records: readonly RecordsByType[RecordType][],
    trace?: TraceHeaders,
  ): Promise<PublishedRecords>
  /** Decisions as they happen, until the signal or the end of the stream. */
  watchDecisions(options?: WatchDecisionsOptions): AsyncGenerator<LoggedDecision, void>
  /** Events as they are sent to a destination, with the outcome, until the signal or the end of the stream. */
  watchDeliveries(destinationId: string, options?: WatchOptions): AsyncGenerator<LiveDelivery, void>
  /** Dead letters of the account as they arrive, until the signal or the end of the stream. */
  watchDeadLetters(options?: WatchOptions): AsyncGenerator<LiveDeadLetter, void>
}

/** A record, of which only the id may be missing. */
export type DecisionRequest = {
  readonly [Type in RecordType]: Omit<RecordsByType[Type], 'record_id'> & {
    readonly record_id?: string | null
    /** false: the answer has no explanation. */
    readonly explain?: boolean
  }
}[RecordType]

/** A rule without its policy. */
export type NewRule = Omit<NewResource<'ipPolicyRule'>, 'ip_policy_id'>
export type NewSource = Static<typeof sourceSchema>
export type SourceChanges = Static<typeof sourceChangesSchema>
export type Source = Static<typeof shownSourceSchema>
export type TestOptions = Pick<CreateOptions, 'idempotencyKey'>

/** Every kind with operations is in the table. */
type ServedKinds = { readonly [N in keyof Kinds]: KindPaths }

export function openClient(options: HttpOptions): Client {
  const http = new Http(options)
  const kinds = Object.fromEntries(
    Object.entries(kindTable).map(([name, paths]) => [name, kindOf(http, paths)]),
  )
  const { eventSubscription, eventDestination, ipPolicy, ipRestriction } = kindTable as ServedKinds
  const subpath = ({ path }: { readonly path: string }, id: string, name: string): string =>
    `${path}/${encodeURIComponent(id)}/${name}`
  const others: Omit<Client, keyof Kinds> = {
    sources: (id) => new Collection(http, subpath(eventSubscription, id, 'sources'), 'sources'),
    rules: (id, options = {}) => rulesOf(http, subpath(ipPolicy, id, 'rules'), options),
    checkAddress: async (ip) => http.send('GET', `${ipPolicy.path}/check`, { query: { ip } }),
    ipPolicyUses: async (id) => http.send('GET', subpath(ipPolicy, id, 'uses')),
    ipPolicyCounts: async (page = {}) => http.send('GET', `${ipPolicy.path}/counts`, { query: { ...page } }),
    lastTraffic: (kind, page = {}) => lastTrafficOf(http, kind, page),
    replaceRules: async (id, rules, options = {}) =>
      http.send('PUT', subpath(ipPolicy, id, 'rules'), { body: { rules }, query: writeQuery(options) }),
    restoreRules: async (id, ...past) => restoredRules(http, subpath(ipPolicy, id, 'rules/restore'), ...past),
    tryRules: async (id, rules, { since = '1h', time } = {}) =>
      http.send('PUT', subpath(ipPolicy, id, 'rules'), { body: { rules }, query: { try: since, time } }),
    tryRestriction: async (id, body, { since, time } = {}) =>
      http.send('POST', subpath(ipRestriction, id, 'try'), { body, query: { since, time } }),
    trySubscription: async (body, { since, time } = {}) =>
      http.send('POST', `${eventSubscription.path}/try`, { body, query: { since, time } }),
    tryAccount: async (body, query = {}) => http.send('POST', '/tries', { body, query: { ...query } }),
    trial: async (id) => http.send('GET', `/tries/${encodeURIComponent(id)}`),
    cancelTrial: async (id) => http.send('DELETE', `/tries/${encodeURIComponent(id)}`),
    replay: async (id, body, { idempotencyKey } = {}) =>
      http.send('POST', subpath(eventDestination, id, 'replay'), { body, idempotencyKey }),
    replays: async () => http.send('GET', '/replays'),
    getReplay: async (id) => http.send('GET', `/replays/${encodeURIComponent(id)}`),
    cancelReplay: async (id) => http.send('DELETE', `/replays/${encodeURIComponent(id)}`),
    pauseDestination: async (id, options = {}) =>
      http.send('POST', subpath(eventDestination, id, 'pause'), actionOf(options)),
    resumeDestination: async (id, options = {}) =>
      http.send('POST', subpath(eventDestination, id, 'resume'), actionOf(options)),
    sendTestEvent: async (id, { idempotencyKey } = {}) =>
      http.send('POST', subpath(eventDestination, id, 'send_test_event'), { idempotencyKey }),
    checkDestination: async (id) => http.send('POST', subpath(eventDestination, id, 'check')),
    iamPolicy: async (id) => http.send('GET', subpath(eventDestination, id, 'iam_policy')),
    overview: async () => http.send('GET', '/overview'),
    findings: async (options = {}) => http.send('GET', '/findings', { query: { ...options } }),
    runPolicyTests: async (tests, draft) =>
      http.send('POST', '/policy_tests/run', { body: { tests, draft }, isRead: true }),
    policyTestCoverage: async () => http.send('GET', '/policy_tests/coverage'),
    changes: (options = {}) => changesAt(http, '/changes', options),
    decisions: (options = {}) => loggedDecisions(http, options),
    decisionPages: (options = {}) => decisionPages(http, options),
    record: (id) => tracedRecord(http, id),
    ...clientsOf(http),
    stats: async (options = {}) => http.send('GET', '/stats', { query: selectingQuery(options) }),
    expressionFailures: async ({ edgeId: edge_id, subscriptionId: subscription_id, ...options } = {}) =>
      http.send('GET', '/expression_failures', { query: { ...options, edge_id, subscription_id } }),
    deliveryStats: async ({ destinationId: destination_id, ...options } = {}) =>
      http.send('GET', '/stats', { query: { ...options, destination_id, by: 'destination' } }),
    deliveryStatus: async (id) => http.send('GET', subpath(eventDestination, id, 'status')),
    backlogHistory: async (id) => http.send('GET', subpath(eventDestination, id, 'backlog')),
    subscriptionCounts: async (id) => http.send('GET', subpath(eventSubscription, id, 'counts')),
    deliveryAttempts: async (id) => http.send('GET', subpath(eventDestination, id, 'attempts')),
    deliveryStatuses: async (page = {}) =>
      http.send('GET', `${eventDestination.path}/status`, { query: { ...page } }),
    fields: async () => http.send('GET', '/fields'),
    decide: async (body, options = {}) => http.send('POST', '/decide', { body, query: { ...options } }),
    publishRecords: async (lines, trace) => http.send('POST', '/records', { lines, headers: trace }),
    watchDecisions: ({ edge, ...watch } = {}) => linesOf<LoggedDecision>(http, { edge }, watch),
    watchDeliveries: (destination, watch = {}) => linesOf<LiveDelivery>(http, { destination }, watch),
    watchDeadLetters: (watch = {}) => linesOf<LiveDeadLetter>(http, { dead: 'true' }, watch),
  }
  return { ...(kinds as unknown as Kinds), ...others }
}

const clientsOf = (http: Http) => ({
  /** Writes that are made together or not at all; with `validateOnly`, whether they would be made. */
  batch: (body: BatchRequest, { idempotencyKey, ...options }: CreateOptions = {}): Promise<BatchResults> =>
    http.send('POST', '/batch', { body, query: writeQuery(options), idempotencyKey }),
  /** Promotes and discards challengers. */
  challengers: new ChallengerClient(http),
  /** Records and events that were set aside. */
  deadLetters: new DeadLetterClient(http),
  /** What is wrong with the deployment: for accounts with the right `doctor`. */
  doctor: (): Promise<DoctorReport> => http.send('GET', '/doctor'),
  /** The entries of IP lists. */
  listEntries: new ListEntriesClient(http),
  /** Sessions of the web console: for a client without a token. */
  session: new SessionClient(http),
  /** Targets of destinations before these are created. */
  targets: new TargetClient(http),
})

const actionOf = (options: CreateOptions) => ({
  query: writeQuery(options),
  idempotencyKey: options.idempotencyKey,
})

const lastTrafficOf = async (http: Http, kind: TrafficKind, page: PageOptions): Promise<LastTraffic> =>
  http.send('GET', `${(kindTable as ServedKinds)[kind].path}/last_traffic`, { query: { ...page } })
