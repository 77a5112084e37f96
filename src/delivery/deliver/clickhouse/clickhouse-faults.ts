/**
 * Turns an answer of ClickHouse into a fault, by the name of its error:
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
import { hideSecrets } from '../../../ground/core/errors.js'
import type { Fault, FaultClass } from '../../outgoing/fault-class.js'
import { fault } from '../../outgoing/faults.js'
import type { Answer } from './table-client.js'

const classOfName = new Map<string, FaultClass>()
const classify = (faultClass: FaultClass, ...names: readonly string[]): void => {
  for (const name of names) classOfName.set(name, faultClass)
}

classify(
  'throttle',
  'TOO_MANY_PARTS',
  'TOO_MANY_MUTATIONS',
  'TOO_MANY_SIMULTANEOUS_QUERIES',
  'MEMORY_LIMIT_EXCEEDED',
  'CANNOT_ALLOCATE_MEMORY',
  'CANNOT_SCHEDULE_TASK',
  'QUOTA_EXCEEDED',
  'SERVER_OVERLOADED',
)
classify(
  'transient',
  'ABORTED',
  'ALL_CONNECTION_TRIES_FAILED',
  'ALL_REPLICAS_ARE_STALE',
  'ALL_REPLICAS_LOST',
  'ATTEMPT_TO_READ_AFTER_EOF',
  'CANNOT_READ_FROM_SOCKET',
  'CANNOT_WRITE_TO_FILE_DESCRIPTOR',
  'CANNOT_WRITE_TO_SOCKET',
  'DEADLOCK_AVOIDED',
  'KEEPER_EXCEPTION',
  'LOGICAL_ERROR',
  'NETWORK_ERROR',
  'NO_ACTIVE_REPLICAS',
  'NO_FREE_CONNECTION',
  'NO_ZOOKEEPER',
  'NOT_ENOUGH_SPACE',
  'POCO_EXCEPTION',
  'QUERY_WAS_CANCELLED',
  'QUERY_WAS_CANCELLED_BY_CLIENT',
  'RAFT_ERROR',
  'REPLICA_IS_NOT_IN_QUORUM',
  'S3_ERROR',
  'SOCKET_TIMEOUT',
  'STD_EXCEPTION',
  'SYSTEM_ERROR',
  // A replicated table that has lost its Keeper.
  'TABLE_IS_READ_ONLY',
  'TIMEOUT_EXCEEDED',
  'TOO_FEW_LIVE_REPLICAS',
  'UNKNOWN_EXCEPTION',
  'UNKNOWN_STATUS_OF_INSERT',
  'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE',
)
classify(
  'credentials',
  'AUTHENTICATION_FAILED',
  'REQUIRED_PASSWORD',
  'UNKNOWN_USER',
  'USER_EXPIRED',
  'WRONG_PASSWORD',
)
classify(
  'poison',
  'ARGUMENT_OUT_OF_BOUND',
  'CANNOT_CONVERT_TYPE',
  'CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN',
  'CANNOT_READ_ALL_DATA',
  'CANNOT_READ_ARRAY_FROM_TEXT',
  'CANNOT_READ_MAP_FROM_TEXT',
  'DECIMAL_OVERFLOW',
  'INCORRECT_DATA',
  'TOO_LARGE_ARRAY_SIZE',
  'TOO_LARGE_STRING_SIZE',
  'TYPE_MISMATCH',
  'UNKNOWN_ELEMENT_OF_ENUM',
  'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
  'VIOLATED_CONSTRAINT',
)

/** `CANNOT_PARSE_NUMBER`, `CANNOT_PARSE_DATETIME`, `CANNOT_PARSE_UUID` … */
const parseErrors = /^CANNOT_PARSE_/

/** A member without a column: a person adds the column, and nothing is lost. */
const unknownField = /^Unknown field found while parsing|^Unexpected number of elements in named tuple/

/** Events of so many partitions can't be in one request; halves of it can. */
const tooManyPartitions = /^Too many partitions for single INSERT block/

function classOfError(name: string, message: string): FaultClass {
  if (name === 'INCORRECT_DATA' && unknownField.test(message)) return 'configuration'
  if (name === 'TOO_MANY_PARTS' && tooManyPartitions.test(message)) return 'poison'
  if (parseErrors.test(name)) return 'poison'
  // An unknown refusal pauses the destination, so that no event is dropped on a guess.
  return classOfName.get(name) ?? 'configuration'
}

/** The beginning of an error that a server passes on for another one. */
const outerError = /^[\s\S]*DB::Exception: /

/** Any server may have sent the text, and searching takes the square of its length. */
const errorCharsMax = 16 * 1024

/** `Code: 60. DB::Exception: Table default.x does not exist. (UNKNOWN_TABLE) (version 26.7.2.1)` */
const errorForm = /Code: \d+\. DB::Exception: ([\s\S]+?)\.? \(([A-Z][A-Z0-9_]{2,})\)(?= \(version|\s*$)/

/** The fault of an answer other than 200. */
export function faultOfAnswer(status: number, text: string): Fault {
  const [, whole = '', name] = errorForm.exec(text.slice(0, errorCharsMax)) ?? []
  const message = whole.replace(outerError, '')
  if (name !== undefined) return fault(classOfError(name, message), name, hideSecrets(message))
  // Not ClickHouse, or something before it.
  return fault(
    classOfStatus(status),
    `Http${status}`,
    `The server answered ${status}, and not as ClickHouse does.`,
  )
}

function classOfStatus(status: number): FaultClass {
  if (status === 413) return 'poison'
  if (status === 429) return 'throttle'
  if (status === 401) return 'credentials'
  return status === 408 || status >= 500 ? 'transient' : 'configuration'
}

/** An insert that succeeded has no answer but its headers; another server's 200 must not pass for it. */
export const isInserted = ({ status, text, isClickhouse }: Answer): boolean =>
  status === 200 && text === '' && isClickhouse

export const notClickhouse = fault(
  'configuration',
  'NotClickHouse',
  'The server does not answer as ClickHouse does.',
)

export const faultIn = ({ status, text }: Answer): Fault =>
  status === 200 && !text.includes('DB::Exception') ? notClickhouse : faultOfAnswer(status, text)
