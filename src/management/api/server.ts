/**
 * Start here: the management API. It reads the view and writes through the store, and never knows the pipeline. A
 * fastify instance with every route, without a port, so that tests can call it directly.
 *
 * A request is checked in this order: token or session ▸ restriction ▸ rate ▸ version ▸ rights ▸ path and method ▸ content
 * type ▸ bounds at the same time ▸ size ▸ body. Schemas only document: this room checks bodies itself, for messages that a
 * person can act on.
 */
import { type FastifyInstance, fastify } from 'fastify'
import type { GeoDatabases } from '../../delivery/record/geo.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import type { ListeningServer } from '../../ground/core/http-listen.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { challenger } from '../../words/resource/challenger.js'
import { eventSubscription } from '../../words/resource/event-subscription.js'
import { resources } from '../../words/resource/registry.js'
import type { View } from '../../words/view/view.js'
import type { KeyUses } from '../access/key-uses.js'
import type { Sessions } from '../access/sessions.js'
import type { SignInCodes } from '../access/sign-in-codes.js'
import type { Usage } from '../access/usage.js'
import { readable } from '../exchange/rows.js'
import { answerCounter } from '../http/answer-counter.js'
import { Batches } from '../http/batch.js'
import { AtOnce } from '../http/bounds/at-once.js'
import { Auth } from '../http/caller/auth.js'
import { refuseBody } from '../http/context.js'
import { acceptBodies, guard } from '../http/guard.js'
import { Connections, undecodablePath } from '../http/http-errors.js'
import { httpOptions, takeoverOf } from '../http/http-options.js'
import { MissingValues } from '../http/missing-values.js'
import { answerProblem } from '../http/refused-requests.js'
import { traceRequests } from '../http/request-spans.js'
import { markBatchable } from '../http/write-handlers.js'
import { ownersIn } from '../insight/dead-letter-owner.js'
import { Decider } from '../insight/decider.js'
import type { Live } from '../insight/live.js'
import { RecordTracer, type RecordTracerOptions } from '../insight/record-tracer.js'
import type { Trials } from '../insight/trials.js'
import { DeadLetterResender, type ResenderOptions } from '../operate/dead-letter-resender.js'
import { DeadLetters, type DeadLettersOptions } from '../operate/dead-letters.js'
import type { DestinationOperations } from '../operate/destination-operations.js'
import type { Doctor } from '../operate/doctor/doctor.js'
import { Overview } from '../operate/overview.js'
import { PastStarts } from '../operate/past-starts.js'
import type { RecordsLag } from '../operate/records-lag.js'
import type { Replays } from '../operate/replays.js'
import type { RoleVersions } from '../process/role-versions.js'
import type { DeliveryReader } from '../store/logs/delivery-reader.js'
import type { FailureReader } from '../store/logs/failure-reader.js'
import type { LogReader } from '../store/logs/log-reader.js'
import type { TrafficReader } from '../store/logs/traffic-reader.js'
import { Challengers } from '../write/challengers.js'
import { registerAccountTrials } from './account-trial-routes.js'
import { registerBatches } from './batch-routes.js'
import { registerBouncers } from './bouncers/bouncer-routes.js'
import { registerChallengerInsight } from './challengers/challenger-insight.js'
import { challengerCreation, registerChallengers } from './challengers/challenger-routes.js'
import { registerAllChanges, registerChanges } from './change-routes.js'
import { registerDeadLetterChanges } from './dead-letter-changes.js'
import { registerDeadLetters } from './dead-letter-routes.js'
import { registerDecisions } from './decide-routes.js'
import { registerDestinationOperations } from './destination-routes.js'
import { isDestinationIn } from './destination-rows.js'
import { registerEntriesList } from './ip-lists/entries-list.js'
import { registerEntriesReplacement } from './ip-lists/entries-replacement.js'
import { registerIpListPreview } from './ip-lists/ip-list-preview.js'
import { registerIpListRefresh } from './ip-lists/ip-list-refresh.js'
import { registerIpPolicyCheck } from './ip-policies/ip-policy-check.js'
import { registerIpPolicyCounts } from './ip-policies/ip-policy-counts.js'
import { registerIpPolicyUses } from './ip-policies/ip-policy-uses.js'
import { registerLive } from './live-routes.js'
import { registerExpressionFailures } from './log/expression-failure-routes.js'
import { registerFindings } from './log/finding-routes.js'
import { registerLastTraffic } from './log/last-traffic-routes.js'
import { registerStats } from './log/stats-routes.js'
import { registerLoggedDecisions } from './logged-decision-routes.js'
import { registerDetachments, registerModules } from './module-routes.js'
import { registerDoctor, registerOverview } from './overview-routes.js'
import { openReference, registerOpenPages } from './pages/open-pages.js'
import type { OpenapiOptions } from './pages/openapi-document.js'
import type { WriteContext } from './parts/write-context.js'
import { registerPolicyTestCoverage, registerPolicyTestRuns } from './policy-test-routes.js'
import { registerPublishing } from './publish/publish-routes.js'
import type { IntakeOptions } from './publish/record-intake.js'
import { registerRecords } from './record-routes.js'
import { registerReplays } from './replay-routes.js'
import { type Creation, registerResource } from './resource-routes.js'
import { registerRestore } from './restore-routes.js'
import { registerRuleList } from './rule-list.js'
import { registerRuleRestore } from './rule-restore.js'
import { registerRules } from './rule-routes.js'
import { registerSessions } from './session-routes.js'
import { registerSources, registerSubscriptionCounts } from './source-routes.js'
import { registerTrials } from './trial-routes.js'

export interface ApiOptions extends OpenapiOptions {
  readonly context: Omit<WriteContext, 'missingValues'>
  readonly view: View
  readonly destinations: DestinationOperations
  /** Looks at the whole deployment. */
  readonly doctor: Pick<Doctor, 'recent'>
  /** Finds the countries of clients, for decisions. */
  readonly geo: GeoDatabases
  readonly live: Live
  /** The decision log. */
  readonly log: Pick<
    LogReader,
    | 'decisions'
    | 'page'
    | 'counts'
    | 'filteredCounts'
    | 'outsideTimes'
    | 'ownTimeAt'
    | 'clientsInNetworks'
    | 'ruleUses'
    | 'reached'
    | 'reachedByOwnTime'
    | 'unservedNames'
    | 'search'
    | 'mode'
  >
  /** The log of attempts to deliver. */
  readonly deliveries: RecordTracerOptions['deliveries'] & Pick<DeliveryReader, 'counts' | 'isComplete'>
  /** The log of expressions without a result. */
  readonly failures: Pick<FailureReader, 'places' | 'mode'>
  /** The last traffic to names, from the decision log. */
  readonly traffic: Pick<TrafficReader, 'last' | 'mode'>
  /** Reads records that are still stored. */
  readonly nats: RecordTracerOptions['nats'] &
    DeadLettersOptions['nats'] &
    ResenderOptions['nats'] &
    IntakeOptions['nats']
  readonly partitions: PartitionSet
  readonly replays: Replays
  /** How far the pipelines are behind. */
  readonly lag: Pick<RecordsLag, 'now'>
  /** Which versions of the roles run. */
  readonly versions: Pick<RoleVersions, 'troubles'>
  readonly trials: Trials
  readonly occurrences: Occurrences
  /** Limits requests and failed logins. */
  readonly usage: Usage
  /** Notes which keys are used, and what bouncers got last. */
  readonly keyUses: Pick<KeyUses, 'note' | 'lastUse' | 'lastPulls' | 'notePulls'>
  /** Sessions of the web console. */
  readonly sessions: Sessions
  readonly signInCodes: SignInCodes
  /** Where proxies ask, if it is known here. */
  readonly decidePort?: number | undefined
  /** CIDRs whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** A server that already listens: it passes requests to the API once that is built. Default: a new server. */
  readonly listening?: Pick<ListeningServer, 'server' | 'answerWith'>
}

export async function buildApi(given: ApiOptions): Promise<FastifyInstance> {
  const { occurrences, listening, geo, eventKinds } = given
  const missingValues = new MissingValues(geo, eventKinds)
  const options = { ...given, context: { ...given.context, missingValues } }
  const answer = answerProblem(occurrences)
  const auth = new Auth({ ...options, keys: options.context.store.keys })
  const connections = new Connections()
  const countAnswer = answerCounter(occurrences)
  const answerUndecodable = undecodablePath(async (request) => auth.check(request), answer)
  const takeover = takeoverOf(listening)
  const app = fastify({
    ...httpOptions(options.trustedProxies, connections),
    ...takeover.options,
    // Such a request reaches no hook.
    frameworkErrors: (error, request, reply) => {
      countAnswer(request, reply)
      answerUndecodable(error, request, reply)
    },
  })
  connections.watch(app.server)
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(answer)
  acceptBodies(app)
  app.decorateRequest('caller')
  app.decorateRequest('batch')
  markBatchable(app)
  app.addHook('onRequest', (request, reply, done) => {
    countAnswer(request, reply)
    done()
  })
  traceRequests(app)
  await openReference(app, options)
  const atOnce = new AtOnce(occurrences)
  const batches = new Batches()
  await guard(app, auth, atOnce, batches)
  const document = () => app.swagger()
  await app.register((open) => registerOpenPages(open, document, eventKinds, missingValues.names, atOnce))
  await app.register(async (open) => registerSessions(open, { ...options, auth }))
  const { pastRows, keys } = options.context.store
  await app.register(async (open) => registerBouncers(open, { ...options, pastRows, keys }))
  await app.register(async (guarded) => registerResources(guarded, options, batches))
  await app.ready()
  takeover.done()
  return app
}

type WholeOptions = ApiOptions & { readonly context: WriteContext }

function registerResources(app: FastifyInstance, options: WholeOptions, batches: Batches): void {
  const { context, destinations, live, log, replays, trials } = options
  app.addHook('preHandler', (request, _reply, done) => {
    refuseBody(request)
    done()
  })
  const starts = new PastStarts(replays, () => options.view.state.rowsOf(eventSubscription.kind))
  app.addHook('onClose', async () => starts.close())
  registerBatches(app, context, batches)
  const challengers = new Challengers(context.writes)
  const creations: Readonly<Record<string, Creation>> = {
    [eventSubscription.kind]: starts,
    [challenger.kind]: challengerCreation(challengers),
  }
  for (const resource of resources) {
    registerResource(app, context, resource, creations[resource.kind])
    registerModules(app, context, resource)
    registerDetachments(app, context, resource)
    registerChanges(app, context, resource)
    registerRestore(app, context, resource)
  }
  registerAllChanges(app, context)
  registerChallengers(app, context, challengers)
  registerPolicyTestRuns(app, context)
  registerPolicyTestCoverage(app, context, options)
  registerRules(app, context, trials)
  registerRuleList(app, context, log)
  registerRuleRestore(app, context)
  registerIpPolicyCounts(app, context)
  registerEntriesReplacement(app, context)
  registerEntriesList(app, context)
  registerIpListPreview(app, context)
  registerIpListRefresh(app, context)
  registerIpPolicyUses(app, context)
  registerSources(app, context)
  registerDestinationOperations(app, context, destinations)
  registerSubscriptionCounts(app, context, destinations)
  registerReplays(app, context, replays)
  const { pastRows } = context.store
  const decider = new Decider({ ...options, pastRows, policies: context.policies })
  registerDecisions(app, context, decider)
  registerIpPolicyCheck(app, context, decider)
  registerLive(app, context, live)
  registerChallengerInsight(app, context, { ...options, decider })
  registerLoggedDecisions(app, context, log, options.occurrences)
  registerRecords(app, context, new RecordTracer({ ...options, pastRows, decider }), log.mode)
  registerPublishing(app, context, options)
  const letters = new DeadLetters({ nats: options.nats, ownerOf: ownersIn(options.view) })
  registerDeadLetters(app, context, letters)
  const isDestination = isDestinationIn(options.view)
  const resender = new DeadLetterResender({ ...options, isDestination })
  registerDeadLetterChanges(app, context, letters, resender)
  registerStats(app, context, options)
  registerExpressionFailures(app, context, options.failures)
  registerFindings(app, context, options)
  registerLastTraffic(app, context, options.traffic)
  const { presenter, statuses, policies } = context
  const { retentionMs } = trials
  const stateOf = () => readable(context)
  const { links } = presenter
  const overview = new Overview({ ...options, stateOf, letters, links, statuses, policies, retentionMs })
  registerOverview(app, context, overview)
  registerDoctor(app, context, options.doctor)
  registerTrials(app, context, trials)
  registerAccountTrials(app, context, trials)
}
