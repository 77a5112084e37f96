/** Reads the log for a test of its answers: a busy machine must not cut them short. */
import type { Clickhouse } from '../../src/management/store/clickhouse/clickhouse.js'
import { LogReader } from '../../src/management/store/logs/log-reader.js'

const searchTimeoutMs = 300_000

export const patientReader = (
  clickhouse: Clickhouse,
  mode: ConstructorParameters<typeof LogReader>[1] = 'all',
): LogReader => new LogReader(clickhouse, mode, searchTimeoutMs)
