/** Totals of records, over all destinations. */
import { type RecordType, recordTypes } from '../record/traffic-record.js'
import type { InputCounts } from './ledger.js'

export type RecordTotals = Record<Exclude<keyof InputCounts, 'sources' | 'asked'>, number>

/** All zero: the initial totals, and the counts of a message without records. */
export const noRecords: Readonly<RecordTotals> = {
  records: 0,
  bad: 0,
  ...(Object.fromEntries(recordTypes.map((type) => [type, 0])) as Record<RecordType, number>),
  allow: 0,
  block: 0,
  deny: 0,
  unserved: 0,
  audits: 0,
  audits_bad: 0,
}
