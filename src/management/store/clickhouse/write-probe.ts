/**
 * Stores a row that no one reads, to find out whether ClickHouse stores: reads go on when its disk is full. Merges leave one
 * row of the table.
 */
import { messageOf } from '../../../ground/core/errors.js'
import type { Clickhouse } from './clickhouse.js'
import { type Cluster, completeEngine, targetOn } from './cluster.js'
import { errorTypeOf, isRefusedByClickhouse } from './errors.js'

export const probeTable = 'write_probe'

/** Replaced parts are worth nothing here, so they leave soon. */
export const createProbeTableSql = (cluster?: Cluster): string =>
  `CREATE TABLE IF NOT EXISTS ${targetOn(cluster, probeTable)} (role String, written_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = ${completeEngine(cluster, 'ReplacingMergeTree')} ORDER BY role SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10`

/** An insert since just before the last look shows as much as a probe. */
const provenMs = 4_000

const readOnly = 'it can only read'

const causes: readonly (readonly [pattern: RegExp, cause: string])[] = [
  [/not enough space|no space left|errno: 28\b/i, 'its disk is full'],
  [/read-?only/i, readOnly],
  [/too many open files|errno: 2[34]\b/i, 'it can open no more files'],
]

export interface WriteFault {
  /** For all: a sentence without details of the deployment. */
  readonly reason: string
  /** The message of ClickHouse, for operators. */
  readonly text?: string | undefined
  /** A note that they must read before they mend it. */
  readonly advice?: string | undefined
}

const unmountingAdvice =
  'It goes on by itself when files can be written again. The embedded ClickHouse has some open: stop Weir before its disk is unmounted.'
const textMax = 300
const insertTimeoutMs = 5_000
/** An overloaded machine may answer late once, but hardly ever twice. What ClickHouse refuses, it refuses again. */
const triesMax = 2

export class WriteProbe {
  readonly #clickhouse: Pick<Clickhouse, 'hasStored' | 'insert' | 'isEmbedded'>

  constructor(clickhouse: Pick<Clickhouse, 'hasStored' | 'insert' | 'isEmbedded'>) {
    this.#clickhouse = clickhouse
  }

  /** Why nothing can be stored; undefined if something was, just now. */
  async fault(): Promise<WriteFault | undefined> {
    if (this.#clickhouse.hasStored(provenMs)) return undefined
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#clickhouse.insert(probeTable, [{ role: 'api' }], undefined, insertTimeoutMs)
        return undefined
      } catch (error) {
        if (isRefusedByClickhouse(error) || tries === triesMax)
          return faultOf(error, this.#clickhouse.isEmbedded)
      }
    }
  }
}

export function faultOf(error: unknown, isEmbedded: boolean): WriteFault {
  const text = messageOf(error).slice(0, textMax)
  const type = errorTypeOf(error)
  const cause = causes.find(([pattern]) => pattern.test(`${type} ${text}`))?.[1]
  const known = cause ?? (type === undefined ? 'it does not confirm an insert' : `it answers ${type}`)
  const advice = isEmbedded && cause === readOnly ? unmountingAdvice : undefined
  return { reason: `ClickHouse stores nothing, because ${known}; nothing was written.`, text, advice }
}
