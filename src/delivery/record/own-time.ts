/**
 * The own time of a record: when its connection or request began, or when it ended if only that is known. Who publishes a
 * record may say anything, so a time counts within bounds alone; beyond them, a record counts at the time when it was
 * stored.
 */
import { ownTimeAheadMinutes, ownTimeYears } from '../../ground/core/limits.js'
import { millisOf } from '../../ground/core/text/timestamp.js'
import type { TrafficRecord } from './traffic-record.js'

const dayMs = 24 * 60 * 60_000
const backMaxMs = ownTimeYears * 365.25 * dayMs
export const ownTimeAheadMs = ownTimeAheadMinutes * 60_000

/** Undefined if it says none: milliseconds since the epoch. */
export function ownTimeOf({ conn }: TrafficRecord): number | undefined {
  const text = conn.start_ts ?? ('end_ts' in conn ? conn.end_ts : undefined)
  return text === undefined || text === null ? undefined : millisOf(text)
}

/** On which side is it of the bounds of a record that was stored then? Undefined: within. */
export function outsideOf(ownMs: number, storedMs: number): 'ahead' | 'past' | undefined {
  if (ownMs > storedMs + ownTimeAheadMs) return 'ahead'
  return ownMs < storedMs - backMaxMs ? 'past' : undefined
}
