/** The common parts of all requests for a trial: the time that is read, the job, and the answer. */
import type { FastifyReply } from 'fastify'
import { now } from '../core/clock.js'
import { Type } from '../core/schema.js'
import { pastTimeForms } from '../core/units.js'
import type { Caller } from '../http/caller/caller.js'
import { type ApiContext, readable, sendJson } from '../http/context.js'
import { pastTime } from '../http/lists/query-values.js'
import { trialsPath } from '../http/openapi/openapi.js'
import type { StoredTrial } from '../insight/trials.js'
import type { Trial } from '../shape/trial.js'
import type { TrialJob } from '../trial/trial-child.js'

/** How much recorded traffic a trial reads if the request does not say it. */
const trialSinceMsDefault = 60 * 60_000

const hours = trialSinceMsDefault / 3_600_000

export const sinceParameter = Type.Optional(
  Type.String({
    default: `${hours}h`,
    description: `Which recorded traffic is read: ${pastTimeForms}. At most the retention of records.`,
  }),
)

export const tryParameter = Type.Optional(
  Type.String({
    description: `Stores nothing and answers with a trial: what the rules would have done to recorded traffic since then. ${pastTimeForms[0]!.toUpperCase()}${pastTimeForms.slice(1)}.`,
  }),
)

type Range = Pick<TrialJob, 'sinceMs' | 'untilMs'>

/** The time from the value of a query parameter until now. */
export function rangeSince(name: string, text: string | undefined, retentionMs: number): Range {
  const untilMs = now()
  if (text === undefined) return { sinceMs: untilMs - Math.min(trialSinceMsDefault, retentionMs), untilMs }
  const sinceMs = pastTime(`The query parameter "${name}"`, text, { nowMs: untilMs, retentionMs })
  return { sinceMs, untilMs }
}

/** The job without its draft. The account's configuration is at least the one that the draft was checked against. */
export function openJob(
  context: ApiContext,
  { accountId }: Caller,
  range: Range,
): Omit<TrialJob, 'rows' | 'policyId'> {
  return { accountId, version: readable(context).versionOf(accountId), ...range }
}

export const shownTrial = ({ presenter }: ApiContext, { id, ...trial }: StoredTrial): Trial => ({
  id,
  uri: presenter.links.uri(`${trialsPath}/${id}`),
  ...trial,
  // Trials that an earlier version began have none.
  removes: trial.removes ?? [],
  removes_left_out: trial.removes_left_out ?? 0,
})

/** The answer to a request that began a trial. */
export function answerTrial(context: ApiContext, reply: FastifyReply, trial: StoredTrial): FastifyReply {
  const answer = shownTrial(context, trial)
  return sendJson(reply.status(202).header('Location', answer.uri), answer)
}
