/**
 * Consequences of the version of a nats-server: faults that later versions do not have, and features that earlier ones
 * lack. Code asks here, by name, and never compares versions itself.
 */
import type { Occurrences } from '../core/telemetry/occurrences.js'

type Numbers = readonly [major: number, minor: number, patch: number]

/** The first version with each feature. */
const features = {
  /** Every message is synced to the disk before it is acknowledged. */
  syncAlways: [2, 10, 0],
  /** One answer acknowledges many messages of a publisher (ADR-50 of NATS), in streams that allow it. */
  fastIngest: [2, 14, 0],
} as const satisfies Record<string, Numbers>

/** Permissions do not restrict reply subjects, so any client can crash an older one (nats-server #3862). */
const wildcardReplyFixedIn: Numbers = [2, 9, 15]
/**
 * The first version of each maintained line with the fixes of all advisories up to November 2026
 * (https://advisories.nats.io); lines without an entry never got all of them.
 */
const advisoriesFixedIn: readonly Numbers[] = [
  [2, 12, 12],
  [2, 14, 3],
]
/** From this line on, all versions have them. */
const fixedFrom: Numbers = [2, 15, 0]

interface Version {
  readonly numbers: Numbers
  readonly isPreview: boolean
}

function parseVersion(version: unknown): Version | undefined {
  const match = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-)?/.exec(String(version))
  if (match === null) return undefined
  return { numbers: match.slice(1, 4).map(Number) as unknown as Numbers, isPreview: match[4] !== undefined }
}

/** A preview of a version may lack what that version brings. */
function isBefore({ numbers, isPreview }: Version, wanted: Numbers): boolean {
  const different = wanted.findIndex((part, index) => part !== numbers[index])
  return different === -1 ? isPreview : numbers[different]! < wanted[different]!
}

/** The first version with the feature. */
export const firstWith = (feature: keyof typeof features): string => features[feature].join('.')

/** False for a version that can't be read. */
export function supports(version: unknown, feature: keyof typeof features): boolean {
  const parsed = parseVersion(version)
  return parsed !== undefined && !isBefore(parsed, features[feature])
}

/** Can a client crash it with a wildcard in the reply subject of a message? False for a version that can't be read. */
export function crashesOnWildcardReply(version: unknown): boolean {
  const parsed = parseVersion(version)
  return parsed !== undefined && isBefore(parsed, wildcardReplyFixedIn)
}

/** Why a version should be replaced; undefined if it has all known fixes, or can't be read. */
export function outdatedBecause(version: unknown): string | undefined {
  if (crashesOnWildcardReply(version))
    return 'Any client can crash it with a wildcard in the reply subject of a message (fixed in 2.9.15).'
  const parsed = parseVersion(version)
  if (parsed === undefined || !isBefore(parsed, fixedFrom)) return undefined
  const [major, minor] = parsed.numbers
  const fixed = advisoriesFixedIn.find((each) => each[0] === major && each[1] === minor)
  if (fixed !== undefined && !isBefore(parsed, fixed)) return undefined
  const names = [...advisoriesFixedIn, fixedFrom].map((numbers) => numbers.join('.'))
  return `It lacks fixes of published security faults; ${names.slice(0, -1).join(', ')} and ${names.at(-1)} or newer have them.`
}

export type VersionOccurrences = Pick<Occurrences, 'natsServerOutdated' | 'natsServersOutdated'>

/** Reports an outdated version once, however often the server comes back; the gauge follows the server in use. */
export class VersionReports {
  readonly #occurrences: VersionOccurrences | undefined
  readonly #isQuiet: boolean
  #reported: unknown

  /** `isQuiet`: another process writes the log line. */
  constructor(occurrences: VersionOccurrences | undefined, isQuiet = false) {
    this.#occurrences = occurrences
    this.#isQuiet = isQuiet
  }

  note(version: unknown): void {
    const reason = outdatedBecause(version)
    this.#occurrences?.natsServersOutdated({}, reason === undefined ? 0 : 1)
    if (reason === undefined || this.#isQuiet || this.#reported === version) return
    this.#reported = version
    this.#occurrences?.natsServerOutdated({ version, reason })
  }
}
