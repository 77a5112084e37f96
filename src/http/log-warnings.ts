/**
 * Why an answer about logged decisions may be empty or 0 although something happened: names without a value in this
 * deployment, and rows that its log does not have. The header reports it, as for writes.
 */
import type { FastifyReply } from 'fastify'
import type { ApiContext } from './context.js'
import { type Use, warningHeader } from './missing-values.js'

export const onlyBlocked =
  'The log of this deployment has only decisions that blocked or denied (WEIR_DECISION_LOG is "blocked"): those that allowed are missing.'

export const onlyFailed =
  'The log of this deployment has only requests that did not deliver (WEIR_DECISION_LOG is "blocked"): those that delivered are missing.'

/** The names that a parameter stands for. */
export const usesIn = (place: string, names: readonly string[]): Use[] =>
  names.map((name) => ({ place, name }))

/** `others`: sentences about what else is missing. */
export function warnOfGaps(
  reply: FastifyReply,
  { missingValues }: Pick<ApiContext, 'missingValues'>,
  uses: readonly Use[],
  others: readonly string[] = [],
): void {
  const warnings = [...missingValues.searchWarnings(uses), ...others]
  if (warnings.length > 0) reply.header(warningHeader, warnings.join(' '))
}
