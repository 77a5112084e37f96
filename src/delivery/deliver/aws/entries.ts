/** Requests whose entries are accepted or refused one by one, with nothing between entry and event: SQS, EventBridge. */
import type { Fault } from '../../outgoing/fault-class.js'
import type { Rejection } from '../kind/sender.js'

/** An entry that was not accepted. */
export type FailedEntry = Rejection

/** An entry that the answer does not mention: it may have been accepted. */
export const notMentioned: Fault = {
  class: 'transient',
  code: 'NoResult',
  msg: 'The answer has no result for the event.',
}
