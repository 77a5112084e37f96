/** Common parts of the checks of several kinds. */
import { fail, ok, type Result } from '../../../ground/core/errors.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { Finding } from '../kind/sender.js'

export const endpointAnswers = 'The endpoint answers and accepts the credentials.'

/** Delivery works without the right to describe its target, so a refusal of that proves only who asks. */
export function unlessDenied(fault: Fault, right: string, writing: string): Result<Finding, Fault> {
  // STS has the second code, too, but as a fault of credentials.
  const isDenied = fault.code === 'AccessDeniedException' || fault.code === 'AccessDenied'
  if (!isDenied || fault.class !== 'configuration') return fail(fault)
  const target = `The target's existence: the credentials lack the right ${right}, which delivery does not need.`
  return ok({ mayWrite: false, proved: [endpointAnswers], notProved: [target, writing] })
}
