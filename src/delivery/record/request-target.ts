/** The target of a request in every reading that servers have of it. */
import { namesPath, readingsOfUri } from '../../ground/core/text/request-target.js'
import { type Readings, readingsOfPath } from '../../ground/core/text/target-readings.js'
import type { RequestRecord } from './traffic-record.js'

export interface TargetReadings extends Readings {
  /** Servers disagree about it. */
  readonly isAmbiguous: boolean
}

/**
 * From the target as sent, if the record has it, else from its path. Undefined if all servers read the path that the record
 * shows, as of nearly every record.
 */
export function targetReadings({ http }: RequestRecord): TargetReadings | undefined {
  const { path, raw } = http?.request?.url ?? {}
  if (!raw) return path ? of(readingsOfPath(path)) : undefined
  if (path && namesPath(raw, path)) return undefined
  const readings = readingsOfUri(raw)
  const [first, ...others] = readings.all
  return first?.path === path && others.length === 0 ? undefined : of(readings)
}

const of = (readings: Readings | undefined): TargetReadings | undefined =>
  readings && { ...readings, isAmbiguous: readings.tooMany || readings.all.length > 1 }
