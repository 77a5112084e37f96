/** Which times the records of a trial had, and their decisions over time. */
import { ownTimeAheadMinutes, ownTimeYears } from '../../../ground/core/limits.js'
import { objectOf, orNull, type Static, Type } from '../../../ground/core/schema.js'
import { decisionWord } from '../decisions/decision.js'

const count = Type.Integer({ minimum: 0 })

/** A pair of decisions. */
export const changeOf = { before: decisionWord, after: decisionWord, records: count }

const decided = objectOf(
  { allow: count, block: count, deny: count },
  { title: 'TrialDecided', description: 'Records by their decision.' },
)

export const overTimeSchema = objectOf(
  {
    interval_seconds: Type.Integer({ minimum: 1, description: 'The length of an interval.' }),
    points: Type.Array(
      objectOf(
        {
          at: Type.String({ description: 'The start of the interval: RFC 3339 in UTC.' }),
          before: decided,
          after: decided,
          changed: Type.Array(objectOf(changeOf), { description: 'Pairs of decisions that differ.' }),
        },
        { title: 'TrialPoint' },
      ),
      { description: 'Oldest first; intervals without records are left out.' },
    ),
  },
  { title: 'TrialOverTime', description: 'Decisions over the time that was read, in at most 48 intervals.' },
)

export const timesSchema = objectOf(
  {
    first: orNull(Type.String(), {
      description: 'The first record that was tried, by `time`; null if there is none.',
    }),
    last: orNull(Type.String(), { description: 'The last one.' }),
    no_time: Type.Integer({
      minimum: 0,
      description: 'With own times: records that say no time, and so count when they were stored.',
    }),
    past: Type.Integer({
      minimum: 0,
      description: `Records that say a time of more than ${ownTimeYears} years before they were stored: it does not count, but when they were stored.`,
    }),
    ahead: Type.Integer({
      minimum: 0,
      description: `The same of more than ${ownTimeAheadMinutes} minutes after.`,
    }),
    left_out: Type.Integer({
      minimum: 0,
      description:
        'Records that were stored in the range, and began before or after it: they were read, and not tried.',
    }),
  },
  { title: 'TrialTimes' },
)

export type TrialTimes = Static<typeof timesSchema>
