/** The outcome of PutRecords and PutRecordBatch, which answer record by record. */

import type { Fault } from '../../outgoing/fault-class.js'
import { partial } from '../kind/outcomes.js'
import type { Receipt, Rejection, SendOutcome, ServiceRecord, Suspects } from '../kind/sender.js'
import { faultOfRecord } from './faults.js'

/** One record's result of PutRecords or PutRecordBatch. */
interface RecordResult {
  readonly ErrorCode?: string | undefined
  readonly ErrorMessage?: string | undefined
  readonly SequenceNumber?: string | undefined
  readonly ShardId?: string | undefined
  readonly RecordId?: string | undefined
}

/**
 * The outcome of an HTTP 200 with a result per record, of which so many failed. `records` names the events of each record,
 * unless each record is an event.
 */
export function outcomeOfRecords(
  results: readonly RecordResult[],
  failed: number,
  requestId?: string,
  records: readonly ServiceRecord[] = [],
): SendOutcome {
  const isPacked = records[0]?.indices !== undefined
  const receipt = { ...receiptOf(results, requestId), ...(isPacked && { records }) }
  if (failed === 0) return { outcome: 'accepted', ...receipt }
  const retry: number[] = []
  const rejected: Rejection[] = []
  let suspects: Suspects | undefined
  let reason: Fault | undefined
  for (const [index, { ErrorCode, ErrorMessage }] of results.entries()) {
    if (ErrorCode === undefined) continue
    const fault = faultOfRecord(ErrorCode, ErrorMessage, requestId)
    const indices = records[index]?.indices ?? [index]
    const [first, ...others] = indices
    if (fault.class === 'poison' && others.length === 0) {
      rejected.push({ index: first!, fault })
    } else if (fault.class === 'poison' && results.length === 1) {
      // A part of a record that is searched for the event at fault: the search must see that it was refused.
      return { outcome: 'failed', fault }
    } else if (fault.class === 'poison' && suspects === undefined) {
      suspects = { indices, fault }
    } else {
      retry.push(...indices)
      reason ??= fault
    }
  }
  if (retry.length + rejected.length === 0 && suspects === undefined)
    return { outcome: 'accepted', ...receipt }
  return partial({ retry, rejected, suspects, reason }, receipt)
}

function receiptOf(results: readonly RecordResult[], requestId: string | undefined): Receipt {
  const first = results.find(({ ErrorCode }) => ErrorCode === undefined)
  const receipt = first?.SequenceNumber ?? first?.RecordId
  return {
    ...(requestId !== undefined && { requestId }),
    ...(receipt !== undefined && { receipt }),
    ...(first?.ShardId !== undefined && { shard: first.ShardId }),
  }
}
