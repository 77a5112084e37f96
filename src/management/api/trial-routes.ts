/**
 * Trials: what a draft would have done to recorded traffic. A draft is checked exactly as its write would be, because it
 * is the plan of that write, which is rehearsed.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { now } from '../../ground/core/clock.js'
import { badRequest, shown } from '../../ground/core/errors.js'
import { type TSchema, Type } from '../../ground/core/schema.js'
import { pastTimeForms } from '../../ground/core/text/units.js'
import type { TrialJob } from '../../judging/trial/trial-child.js'
import { eventSubscription } from '../../words/resource/event-subscription.js'
import { ipRestriction } from '../../words/resource/ip-restriction.js'
import { type AnyResource, anyResource, type Field, type Row } from '../../words/resource/kind/define.js'
import { resources } from '../../words/resource/registry.js'
import type { PolicyTestRuns } from '../../words/shape/policy-test-run.js'
import { type Trial, trialSchema } from '../../words/shape/trial.js'
import { type Caller, whileKeyLasts } from '../access/caller.js'
import { article, createValues, moduleValue, updateValues } from '../exchange/body/input.js'
import { pastTime, wordIn } from '../exchange/query-values.js'
import { asInPart } from '../exchange/references.js'
import { readable } from '../exchange/rows.js'
import { type ApiContext, queryOf, requestBody, rowAt, sendJson } from '../http/context.js'
import { changesExample, createExample, moduleExample } from '../http/openapi/examples.js'
import {
  createSchema,
  describe,
  patchSchema,
  routePath,
  shownBy,
  trialsPath,
} from '../http/openapi/openapi.js'
import { withRows } from '../http/write-handlers.js'
import { removedParts } from '../insight/removed-parts.js'
import type { StoredTrial, TrialRequest, Trials } from '../insight/trials.js'
import type { Plan } from '../store/change/plan.js'
import { rowTimes } from '../store/logs/row-times.js'
import type { VerifiedWrite } from '../store/verify.js'
import type { RunTest } from '../write/policy-tests.js'
import type { WriteResult } from '../write/writes.js'
import { registerJob } from './job-routes.js'
import { trialsTag } from './parts/tags.js'
import type { WriteContext } from './parts/write-context.js'
import { shownRuns } from './policy-test-routes.js'

/** How much recorded traffic a trial reads if the request does not say it. */
const trialSinceMsDefault = 60 * 60_000

const hours = trialSinceMsDefault / 3_600_000

export const sinceParameter = Type.Optional(
  Type.String({
    default: `${hours}h`,
    description: `Which recorded traffic is read: ${pastTimeForms}. At most the retention of records.`,
  }),
)

export const trialTimeParameter = Type.Optional(
  Type.Enum([...rowTimes], {
    default: 'stored',
    description:
      '`stored`: records that were stored since then. `own`: those that began since then, as they say; also records of the past that were loaded, as long as records are kept.',
  }),
)

export const tryParameter = Type.Optional(
  Type.String({
    description: `Stores nothing and answers with a trial: what the rules would have done to recorded traffic since then. ${pastTimeForms[0]!.toUpperCase()}${pastTimeForms.slice(1)}.`,
  }),
)

type Range = Pick<TrialJob, 'sinceMs' | 'untilMs' | 'isByOwnTime'>

/** The time from the value of a query parameter until now. */
export function rangeSince(
  name: string,
  text: string | undefined,
  time: string | undefined,
  retentionMs: number,
): Range {
  const untilMs = now()
  const isByOwnTime = wordIn('time', time ?? 'stored', rowTimes) === 'own'
  const range = { untilMs, isByOwnTime }
  if (text === undefined) return { sinceMs: untilMs - Math.min(trialSinceMsDefault, retentionMs), ...range }
  // Own times are older than the messages that have them.
  const bounds = { nowMs: untilMs, retentionMs: isByOwnTime ? Number.POSITIVE_INFINITY : retentionMs }
  return { sinceMs: pastTime(`The query parameter "${name}"`, text, bounds), ...range }
}

/** The job without its draft. The account's configuration is at least the one that the draft was checked against. */
export function openJob(
  context: ApiContext,
  { accountId }: Caller,
  range: Range,
): Omit<TrialJob, 'rows' | 'policyId'> {
  return { accountId, version: readable(context).versionOf(accountId), ...range }
}

const shownTrial = ({ presenter }: ApiContext, { id, ...trial }: StoredTrial): Trial => ({
  id,
  uri: presenter.links.uri(`${trialsPath}/${id}`),
  ...trial,
  // Trials that an earlier version began have none.
  removes: trial.removes ?? [],
  removes_left_out: trial.removes_left_out ?? 0,
  tests: trial.tests ?? null,
  time: trial.time ?? 'stored',
  times: trial.times ?? null,
  kept_from: trial.kept_from ?? null,
  decisions: trial.decisions && { ...trial.decisions, access: trial.decisions.access ?? null },
})

/** Failed tests that a trial lists. */
const failedTestsListed = 10

/** The policy tests of the account with a draft; null if it can change no decision. */
export async function testsWith(
  context: WriteContext,
  { accountId, principal }: Caller,
  draft: Pick<Partial<VerifiedWrite>, 'puts' | 'rules'>,
): Promise<Trial['tests']> {
  const state = readable(context)
  const write = { accountId, principal, base: state, state, puts: [], removals: [], ...draft }
  const runs = await context.policyTests.runAfter(write)
  return runs.length === 0 ? null : failedOnes(runs)
}

/** The first tests that failed. */
export function failedOnes(runs: readonly RunTest[]): PolicyTestRuns {
  const { passed, failed, tests } = shownRuns(runs)
  return { passed, failed, tests: tests.slice(0, Math.min(failed, failedTestsListed)) }
}

/** The answer to a request that began a trial. */
export function answerTrial(context: ApiContext, reply: FastifyReply, trial: StoredTrial): FastifyReply {
  const answer = shownTrial(context, trial)
  return sendJson(reply.status(202).header('Location', answer.uri), answer)
}

/** The modules that decide about records. */
const decidingModules = ['ip_restriction', 'policies']

/** The write that a request describes. */
interface DraftedWrite {
  readonly draftOf: TrialRequest['draftOf']
  readonly plan: Plan<WriteResult>
}

type DraftIn = (request: FastifyRequest) => Promise<DraftedWrite> | DraftedWrite

export function registerTrials(app: FastifyInstance, context: WriteContext, trials: Trials): void {
  const register = (
    path: string,
    operation: { operationId: string; summary: string; body: TSchema },
    draftIn: DraftIn,
  ) => {
    const query = Type.Object({ since: sinceParameter, time: trialTimeParameter })
    const described = describe({
      ...operation,
      atOnce: 'draft',
      tag: trialsTag.name,
      path,
      success: [202, trialSchema],
      query,
    })
    app.post(path, described, async (request, reply) => {
      const { since, time } = queryOf(request, ['since', 'time'])
      const range = rangeSince('since', since, time, trials.retentionMs)
      const { draftOf, plan } = await draftIn(request)
      const { caller } = request
      const planned = whileKeyLasts(caller, withRows(plan))
      // The trial shows tests that fail, instead of being refused.
      const author = { ...caller.principal, skipsTests: true }
      const rows = await context.store.rehearsals.of(caller.accountId, author, planned)
      const job = { ...openJob(context, caller, range), rows }
      const removes = removedParts(readable(context), rows)
      const tests = await testsWith(context, caller, { puts: rows })
      return answerTrial(context, reply, await trials.start({ draftOf, job, removes, tests }))
    })
  }
  for (const resource of resources) {
    for (const [name, field] of Object.entries(resource.fields)) {
      if (field.fields === undefined || !decidingModules.includes(name)) continue
      const operation = {
        operationId: `try_${resource.kind}_${name}`,
        summary: `Try a draft of the ${name} module of ${article(resource.title)}`,
        body: shownBy(field.schema, moduleExample(resource, name)),
      }
      const path = `${routePath(resource.path)}/:id/${name}/try`
      register(path, operation, draftOfModule(context, resource, name, field as unknown as Field))
    }
  }
  const restriction = anyResource(ipRestriction)
  const draftedRestriction = {
    operationId: 'try_ip_restriction',
    summary: 'Try changes of an IP restriction',
    body: shownBy(patchSchema(restriction, 'IpRestrictionUpdate'), changesExample(restriction)),
  }
  register(`${restriction.path}/:id/try`, draftedRestriction, draftOfRestriction(context, restriction))
  const subscription = anyResource(eventSubscription)
  const draftedSubscription = {
    operationId: 'try_event_subscription',
    summary: 'Try an event subscription: which events it would have made',
    body: shownBy(createSchema(subscription, 'EventSubscriptionCreate'), createExample(subscription)),
  }
  register(`${subscription.path}/try`, draftedSubscription, draftOfSubscription(context, subscription))
  registerJob(app, {
    name: 'trial',
    path: trialsPath,
    tag: trialsTag.name,
    schema: trialSchema,
    texts: { get: 'Get a trial: its progress and result', cancel: 'A trial that has ended stays as it is.' },
    get: (accountId, id) => trials.get(accountId, id),
    cancel: (accountId, id) => trials.cancel(accountId, id),
    shown: (trial) => shownTrial(context, trial),
  })
}

const draftOfModule =
  (context: WriteContext, resource: AnyResource, name: string, field: Field): DraftIn =>
  (request) => {
    const { id } = rowAt(context, request, resource)
    const value = moduleValue(name, field as never, requestBody(request))
    const nameInBody = asInPart(new RegExp(`^${name}(\\.|$)`))
    return {
      draftOf: { kind: resource.kind, id, part: name },
      plan: context.writes.update(request.caller, resource, id, () => ({ [name]: value }), nameInBody),
    }
  }

const draftOfRestriction =
  (context: WriteContext, resource: AnyResource): DraftIn =>
  (request) => {
    const present = rowAt(context, request, resource)
    const body = requestBody(request)
    checkType(present)
    return {
      draftOf: { kind: resource.kind, id: present.id, part: null },
      plan: context.writes.update(request.caller, resource, present.id, (row, show) =>
        updateValues(resource, body, { row, shown: show() }),
      ),
    }
  }

/** Records are about endpoints. */
function checkType({ id, type }: Row): void {
  if (type === 'endpoints') return
  throw badRequest(
    `The IP restriction ${id} is of the type ${shown(type)}: only those of the type "endpoints" decide about records.`,
  )
}

const draftOfSubscription =
  (context: WriteContext, resource: AnyResource): DraftIn =>
  async (request) => ({
    draftOf: { kind: resource.kind, id: null, part: null },
    plan: await context.writes.create(
      request.caller,
      resource,
      createValues(resource, requestBody(request)),
      now(),
    ),
  })
