/**
 * Turns an error of AWS or the network into a fault. Its class alone decides what a lane does.
 *
 * The names are those of the services' API references, "Common Errors" included:
 * https://docs.aws.amazon.com/kinesis/latest/APIReference/CommonErrors.html
 */
import { messageOf } from '../core/errors.js'
import type {
  Fault,
  FaultClass,
  Receipt,
  Rejection,
  SendAnswer,
  SendOutcome,
  Suspects,
} from './destination.js'
import type { ServiceRecord } from './packing.js'

const classOfCode = new Map<string, FaultClass>()
const classify = (faultClass: FaultClass, ...codes: readonly string[]): void => {
  for (const code of codes) classOfCode.set(code, faultClass)
}

classify(
  'throttle',
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'Throttling',
  'ThrottledException',
  'RequestThrottled',
  'RequestThrottledException',
  'RequestLimitExceeded',
  'TooManyRequestsException',
  'LimitExceededException',
  'KMSThrottlingException',
  'SlowDown',
  // Firehose: the delivery stream's throughput is used up.
  'ServiceUnavailableException',
)
classify(
  'transient',
  'InternalFailure',
  'InternalFailureException',
  'InternalServerError',
  'InternalServerException',
  'ServiceUnavailable',
  'OperationAbortedException',
  'ConcurrentModificationException',
  'RequestTimeout',
  'RequestTimeoutException',
)
classify(
  'credentials',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
  'InvalidSignatureException',
  'SignatureDoesNotMatch',
  'IncompleteSignature',
  'IncompleteSignatureException',
  'MissingAuthenticationToken',
  'MissingAuthenticationTokenException',
  'RequestExpired',
  'AuthFailure',
  'NotAuthorized',
  'RegionDisabledException',
  // STS: the role can't be assumed. The services themselves use AccessDeniedException.
  'AccessDenied',
  // The SDK: Weir itself has no credentials to assume the role with.
  'CredentialsProviderError',
  'TokenProviderError',
)
classify(
  'configuration',
  'AccessDeniedException',
  'ResourceNotFoundException',
  'ResourceInUseException',
  'KMSAccessDeniedException',
  'KMSDisabledException',
  'KMSInvalidStateException',
  'KMSNotFoundException',
  'KMSOptInRequired',
  'OptInRequired',
  'InvalidKMSResourceException',
  'InvalidSourceException',
  'ServiceQuotaExceededException',
  'UnknownOperationException',
  // STS: the role's ARN or the session is invalid.
  'ValidationError',
  'MalformedPolicyDocument',
  'PackedPolicyTooLarge',
)
classify(
  'poison',
  'ValidationException',
  'InvalidArgumentException',
  'InvalidParameterException',
  'InvalidParameterValue',
  'SerializationException',
  'RequestEntityTooLarge',
)

const messageCharsMax = 500

/** AWS's messages may contain key ids, tokens and signatures. */
const secrets =
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}\b|(?<=Signature=|SecretAccessKey=|SessionToken=|Security-Token:)\S+|\b[0-9a-f]{64}\b/gi

const safeMessage = (message: string): string =>
  message.replaceAll(secrets, '…').replaceAll(/\s+/g, ' ').trim().slice(0, messageCharsMax)

/** The fault of a single record that failed within an HTTP 200. */
export function faultOfRecord(code: string, message: string | undefined, requestId?: string): Fault {
  return fault(classOfCode.get(code) ?? 'transient', code, message ?? code, requestId)
}

/** The fault of a request, from the SDK's exception. */
export function faultOf(error: unknown): Fault {
  const { name, code, $metadata } = asSdkError(error)
  const status = $metadata?.httpStatusCode
  if (name === 'AbortError') return fault('transient', 'Aborted', 'The request was aborted.')
  // The SDK calls a connection that was reset a timeout, too.
  const timedOut = name === 'TimeoutError' && (code === undefined || code === 'ETIMEDOUT')
  if (timedOut) return fault('transient', timeoutCode, 'No answer arrived in time.')
  if (status === undefined && code !== undefined && !classOfCode.has(name)) {
    return fault('transient', 'ConnectionLost', `${code}: ${messageOf(error)}`)
  }
  return fault(classOfCode.get(name) ?? classOfStatus(status), name, messageOf(error), $metadata?.requestId)
}

interface SdkError {
  readonly name: string
  /** Node's, such as ECONNRESET. */
  readonly code?: string
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string }
}

const asSdkError = (error: unknown): SdkError =>
  error instanceof Error ? (error as SdkError) : { name: 'UnknownError' }

/** An unknown refusal pauses the destination, so that no event is dropped on a guess. */
function classOfStatus(status: number | undefined): FaultClass {
  if (status === 413) return 'poison'
  if (status === 429) return 'throttle'
  return status !== undefined && status >= 400 && status < 500 ? 'configuration' : 'transient'
}

function fault(faultClass: FaultClass, code: string, message: string, requestId?: string): Fault {
  const named = { class: faultClass, code, msg: safeMessage(message) || code }
  return requestId === undefined ? named : { ...named, requestId }
}

/** The code for a request that was not answered in time. */
export const timeoutCode = 'Timeout'

/** The events of an answered request that the service did not accept. */
export function notAcceptedIn(answer: SendAnswer): Set<number> {
  if (answer.outcome === 'accepted') return new Set()
  const { retry, rejected, suspects } = answer
  return new Set([...retry, ...rejected.map(({ index }) => index), ...(suspects?.indices ?? [])])
}

/** How many events of a request were throttled. */
export function throttledIn(outcome: SendOutcome, events: number): number {
  if (outcome.outcome === 'accepted') return 0
  if (outcome.outcome === 'failed') return outcome.fault.class === 'throttle' ? events : 0
  return outcome.reason?.class === 'throttle' ? outcome.retry.length : 0
}

/** An event that no request can hold. */
export const tooLarge: Fault = {
  class: 'poison',
  code: 'TooLarge',
  msg: 'The event exceeds the limit of the service.',
}

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
    const recordFault = faultOfRecord(ErrorCode, ErrorMessage, requestId)
    const indices = records[index]?.indices ?? [index]
    const isPoison = recordFault.class === 'poison'
    // The search for the event at fault expects that a refused record fails its request, if it is the only one in it.
    if (isPoison && results.length === 1 && indices.length > 1)
      return { outcome: 'failed', fault: recordFault }
    if (isPoison && indices.length === 1) {
      rejected.push({ index: indices[0]!, fault: recordFault })
    } else if (isPoison && suspects === undefined) {
      suspects = { indices, fault: recordFault }
    } else {
      retry.push(...indices)
      reason ??= recordFault
    }
  }
  if (retry.length + rejected.length === 0 && suspects === undefined)
    return { outcome: 'accepted', ...receipt }
  // Events of records that were filled at the same time are interleaved.
  retry.sort((a, b) => a - b)
  const optional = { ...(suspects !== undefined && { suspects }), ...(reason !== undefined && { reason }) }
  return { outcome: 'partial', retry, rejected, ...optional, ...receipt }
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
