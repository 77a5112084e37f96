import { ownTimeAheadMinutes, ownTimeYears } from '../../../ground/core/limits.js'
import type { TrialTimes } from './times.js'

/** For people: how many records count at another time than they say, or are left out. */
export function timeSentences({ no_time, past, ahead, left_out }: TrialTimes): readonly string[] {
  const counted = (count: number, what: string): readonly string[] =>
    count === 0 ? [] : [`${count.toLocaleString('en-US')} ${count === 1 ? 'record' : 'records'} ${what}`]
  return [
    ...counted(no_time, 'without a time of their own: counted when stored.'),
    ...counted(past, `with a time of more than ${ownTimeYears} years before: counted when stored.`),
    ...counted(ahead, `with a time of more than ${ownTimeAheadMinutes} minutes ahead: counted when stored.`),
    ...counted(left_out, 'stored since then that began before or after: left out.'),
  ]
}
