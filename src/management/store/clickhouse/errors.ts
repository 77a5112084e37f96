/** The meaning of ClickHouse's errors. */
import { ClickHouseError } from '@clickhouse/client'

/**
 * An error whose text has a byte 0, as in a damaged block, is cut there: the client does not recognize it without its type.
 */
const cutError = /^Code: \d+\. DB::Exception: /

/** Did ClickHouse refuse the statement, rather than being away? Then a second try is useless. */
export const isRefusedByClickhouse = (error: unknown): boolean =>
  error instanceof ClickHouseError || (error instanceof Error && cutError.test(error.message))

/** Did the statement reach its `max_execution_time`? */
export const isTimeExceeded = (error: unknown): boolean =>
  error instanceof ClickHouseError && error.code === '159'

/** Did the statement reach its `max_rows_to_group_by`? */
export const isGroupsExceeded = (error: unknown): boolean =>
  error instanceof ClickHouseError && error.code === '158'

/** Are the tables or the whole database missing? */
export const isTableMissing = (error: unknown): boolean =>
  error instanceof ClickHouseError && (error.code === '60' || error.code === '81')

/** `UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE`, `REPLICA_IS_NOT_IN_QUORUM`. */
export const isReplicaNotReady = (error: unknown): boolean =>
  error instanceof ClickHouseError && ['286', '289'].includes(error.code)

/** The name of the error; undefined if ClickHouse did not answer. */
export const errorTypeOf = (error: unknown): string | undefined =>
  error instanceof ClickHouseError ? (error.type ?? error.code) : undefined
