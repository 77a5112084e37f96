/**
 * Turns an error of AWS or the network into a fault. Its class alone decides what a lane does.
 *
 * The names are those of the services' API references, "Common Errors" included:
 * https://docs.aws.amazon.com/kinesis/latest/APIReference/CommonErrors.html
 */
import { messageOf } from '../../../ground/core/errors.js'
import type { Fault, FaultClass } from '../../outgoing/fault-class.js'
import { fault, interruptionOf } from '../../outgoing/faults.js'
import { differenceText, isClockRefusal } from './aws-clock.js'

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
  'KmsThrottled',
  'SlowDown',
  // Firehose: the delivery stream's throughput is used up.
  'ServiceUnavailableException',
)
classify(
  'transient',
  'InternalFailure',
  'InternalError',
  'InternalException',
  'InternalFailureException',
  'InternalServerError',
  'InternalServerException',
  'ServiceUnavailable',
  'OperationAborted',
  'OperationAbortedException',
  'ConcurrentModificationException',
  'RequestTimeout',
  'RequestTimeoutException',
  // S3: the object did not arrive as it was sent.
  'BadDigest',
  'IncompleteBody',
  'XAmzContentChecksumMismatch',
  'XAmzContentSHA256Mismatch',
)
classify(
  'credentials',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidClientTokenId',
  'InvalidToken',
  'TokenRefreshRequired',
  'UnrecognizedClientException',
  'InvalidSignatureException',
  'SignatureDoesNotMatch',
  'IncompleteSignature',
  'IncompleteSignatureException',
  'MissingAuthenticationToken',
  'MissingAuthenticationTokenException',
  'RequestExpired',
  'RequestTimeTooSkewed',
  'RequestInTheFuture',
  'AuthFailure',
  'NotAuthorized',
  'RegionDisabledException',
  // The SDK: Weir itself has no credentials to assume the role with.
  'CredentialsProviderError',
  'TokenProviderError',
)
classify(
  'configuration',
  'AccessDeniedException',
  'AccessDenied',
  'ResourceNotFoundException',
  'ResourceInUseException',
  'KMSAccessDeniedException',
  'KMSDisabledException',
  'KMSInvalidStateException',
  'KMSNotFoundException',
  'KMSOptInRequired',
  'KmsAccessDenied',
  'KmsDisabled',
  'KmsInvalidKeyUsage',
  'KmsInvalidState',
  'KmsNotFound',
  'KmsOptInRequired',
  'OptInRequired',
  'InvalidKMSResourceException',
  'InvalidSourceException',
  'ServiceQuotaExceededException',
  'UnknownOperationException',
  // SQS.
  'QueueDoesNotExist',
  'InvalidAddress',
  'InvalidSecurity',
  'UnsupportedOperation',
  // EventBridge: of an entry.
  'InvalidAccountIdException',
  'NotAuthorizedForSourceException',
  'NotAuthorizedForDetailTypeException',
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
  // SQS.
  'BatchRequestTooLong',
  'InvalidMessageContents',
)

/** Errors of STS, where AccessDenied means that the role can't be assumed; elsewhere, that a right is missing. */
const ofSts = new WeakSet<Error>()

/** The same error, so that it can be thrown. */
export function asStsError<E>(error: E): E {
  if (error instanceof Error) ofSts.add(error)
  return error
}

/** The fault of a single record that failed within an HTTP 200. */
export function faultOfRecord(
  code: string,
  message: string | undefined,
  requestId?: string,
  unknown: FaultClass = 'transient',
): Fault {
  return fault(classOfCode.get(code) ?? unknown, code, message ?? code, requestId)
}

/** The fault of a request, from the SDK's exception. `clockOffsetMs`: how far AWS's clock is known to be ahead. */
export function faultOf(error: unknown, clockOffsetMs = 0): Fault {
  const { name, code, $metadata } = asSdkError(error)
  const status = $metadata?.httpStatusCode
  // The SDK calls a connection that was reset a timeout, too.
  const isReset = name === 'TimeoutError' && code !== undefined && code !== 'ETIMEDOUT'
  const interrupted = isReset ? undefined : interruptionOf(error)
  if (interrupted !== undefined) return interrupted
  if (status === undefined && code !== undefined && !classOfCode.has(name)) {
    return fault('transient', 'ConnectionLost', `${code}: ${messageOf(error)}`)
  }
  const message = messageOf(error)
  const clock =
    isClockRefusal(name, message) && clockOffsetMs !== 0
      ? ` The clock of this machine is ${differenceText(clockOffsetMs)}.`
      : ''
  const isRoleDenied = name === 'AccessDenied' && error instanceof Error && ofSts.has(error)
  return fault(
    isRoleDenied ? 'credentials' : (classOfCode.get(name) ?? classOfStatus(status)),
    name,
    `${message}${clock}`,
    $metadata?.requestId,
  )
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
  // A redirection means that the bucket is in another region.
  return status !== undefined && status >= 300 && status < 500 ? 'configuration' : 'transient'
}
