/** The entries of IP lists in files, as the API would read and show them. */
import { entryOrFault } from '../../ground/core/address/list-formats.js'
import { ownEntries } from '../../ground/core/address/list-json.js'
import { isoSeconds } from '../../ground/core/clock.js'
import type { IpListEntry } from '../../words/shape/ip-lists/ip-list-entries.js'
import { missingIn } from './placeholders.js'

/** `fault`: called with the path of each that is wrong. An entry without a comment may be its range alone. */
export function listEntriesIn(
  given: readonly unknown[],
  path: string,
  fault: (path: string, msg: string) => void,
): IpListEntry[] {
  const missing = [...missingIn(given, path)]
  for (const { place, why } of missing) fault(place, `"${place}": ${why}.`)
  if (missing.length > 0) return []
  return [...ownEntries(given, path)].flatMap(({ place, cidr, comment, expires, wrong }): IpListEntry[] => {
    const entry = wrong ?? entryOrFault(cidr, comment, expires)
    if (typeof entry !== 'string') {
      const { expiresAt, ...shown } = entry
      return [{ ...shown, expires_at: expiresAt === null ? null : isoSeconds(expiresAt) }]
    }
    fault(place, `"${place}": ${entry}`)
    return []
  })
}
