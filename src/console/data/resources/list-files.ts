/** Entries of IP lists as people have them in files: read in the formats that the API takes, and compared. */
import { type ListFormat, listFormats } from '../../../core/address/list-formats.js'
import { EntryFaults } from '../../../core/entry-faults.js'
import { messageOf } from '../../../core/errors.js'
import type { IpListEntry } from '../../../shape/ip-list-entries.js'
import { now } from '../clock.js'
import { type ListDifference, listDifference } from '../drafts/list-difference.js'

interface EntriesInFile {
  readonly entries: readonly IpListEntry[]
  /** What is wrong, a sentence each; the API takes none of a list in which something is. */
  readonly faults: readonly string[]
}

/** Formats, the one that is found by the text itself first. */
export const formatChoices: readonly (readonly [string, string])[] = [
  ['', 'as the text looks'],
  ...listFormats.map((each) => [each, each] as const),
]

/** The format that a text most likely has; one that was chosen is that. */
export function formatOf(text: string, chosen: string): ListFormat {
  const known = listFormats.find((each) => each === chosen)
  if (known !== undefined) return known
  const first = text.trimStart()
  const [line = ''] = first.split('\n', 1)
  if (/^\{.*\}\s*$/.test(line) && first.trimEnd().includes('\n')) return 'spamhaus_drop'
  if (/^[[{]/.test(first)) return 'json'
  return /^[^#;]*,/.test(line) ? 'csv' : 'lines'
}

/** Reads a text; the parsers are loaded with the first one. */
export async function entriesInFile(text: string, format: ListFormat): Promise<EntriesInFile> {
  const [{ entriesInText, isJsonFormat }, { entriesInValue }] = await Promise.all([
    import('../../../core/address/list-formats.js'),
    import('../../../core/address/list-json.js'),
  ])
  const faults = new EntryFaults()
  const entries: IpListEntry[] = []
  const reading = { nowMs: now(), isFed: false }
  try {
    const read = isJsonFormat(format)
      ? entriesInValue(JSON.parse(text), format, faults, reading)
      : entriesInText(text, format, faults, reading)
    for (const entry of read) {
      if (entry === undefined) continue
      const { cidr, comment, expiresAt } = entry
      entries.push({
        cidr,
        comment,
        expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      })
    }
  } catch (error) {
    return { entries: [], faults: [`It can't be read: ${messageOf(error)}.`] }
  }
  const { error } = faults
  return { entries, faults: error === undefined ? [] : [error.message] }
}

/** A range that is there twice counts once. */
export const entryDifference = (
  before: readonly IpListEntry[],
  after: readonly IpListEntry[],
): ListDifference<IpListEntry> => {
  const byRange = [...new Map(after.map((entry) => [entry.cidr, entry])).values()]
  return listDifference(before, byRange, ({ cidr }) => cidr, isSameEntry)
}

const isSameEntry = (one: IpListEntry, other: IpListEntry): boolean =>
  one.comment === other.comment && endOf(one) === endOf(other)

/** The API shows whole seconds. */
const endOf = ({ expires_at }: IpListEntry): number =>
  expires_at === null ? 0 : Math.floor(Date.parse(expires_at) / 1000)
