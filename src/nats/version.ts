/**
 * Versions of nats-server. Before 2.9.15 it crashes when any client publishes with a wildcard in the reply subject
 * (nats-server #3862), and permissions do not bound reply subjects.
 */
import type { Occurrences } from '../core/occurrences.js'

const fixedIn = [2, 9, 15] as const

/** Can a client crash this version by a wildcard in the reply subject? A version that can't be read is not accused. */
export function crashesOnWildcardReply(version: unknown): boolean {
  const match = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-)?/.exec(String(version))
  if (match === null) return false
  const parts = match.slice(1, 4).map(Number)
  const different = fixedIn.findIndex((part, index) => part !== parts[index])
  // A preview of the version with the fix may lack it.
  return different === -1 ? match[4] !== undefined : parts[different]! < fixedIn[different]!
}

export type VersionOccurrences = Pick<Occurrences, 'natsServerOutdated' | 'natsServersOutdated'>

/** Reports an outdated version once, however often the server comes back; the gauge follows the server in use. */
export class VersionReports {
  readonly #occurrences: VersionOccurrences | undefined
  #reported: unknown

  constructor(occurrences: VersionOccurrences | undefined) {
    this.#occurrences = occurrences
  }

  note(version: unknown): void {
    const isOutdated = crashesOnWildcardReply(version)
    this.#occurrences?.natsServersOutdated({}, isOutdated ? 1 : 0)
    if (!isOutdated || this.#reported === version) return
    this.#reported = version
    this.#occurrences?.natsServerOutdated({ version })
  }
}
