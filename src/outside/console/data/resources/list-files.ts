/** Entries of IP lists as people have them in files: read in the formats that the API takes, and compared. */
import { type ListFormat, likelyFormat, listFormats } from '../../../../ground/core/address/list-formats.js'
import { EntryFaults } from '../../../../ground/core/entry-faults.js'
import { messageOf } from '../../../../ground/core/errors.js'
import type { IpListEntry } from '../../../../words/shape/ip-lists/ip-list-entries.js'
import { now } from '../clock.js'
import { type ListDifference, listDifference } from './list-difference.js'

interface EntriesInFile {
  readonly entries: readonly IpListEntry[]
  /** A sentence for each fault; the API takes no entry of a list that has one. */
  readonly faults: readonly string[]
}

export const formatWords: Readonly<Record<ListFormat, string>> = {
  lines: 'a range on each line',
  netset: 'netset or ipset, as FireHOL has',
  csv: 'CSV',
  spamhaus_drop: 'Spamhaus DROP',
  json: 'JSON',
  aws: 'ip-ranges.json of AWS',
  gcp: 'cloud.json of Google Cloud',
  azure: 'service tags of Azure',
  cloudflare: 'networks of Cloudflare',
}

/** Formats, the one that is found by the text itself first. */
export const formatChoices: readonly (readonly [string, string])[] = [
  ['', 'as the text looks'],
  ...listFormats.map((each) => [each, formatWords[each]] as const),
]

/** The format that a text most likely has; one that was chosen is that. */
export function formatOf(text: string, chosen: string): ListFormat {
  const known = listFormats.find((each) => each === chosen)
  if (known !== undefined) return known
  return likelyFormat(text)
}

/** Reads a text; the parsers are loaded with the first one. */
export async function entriesInFile(text: string, format: ListFormat): Promise<EntriesInFile> {
  const [{ entriesInText, isJsonFormat }, { entriesInValue }] = await Promise.all([
    import('../../../../ground/core/address/list-formats.js'),
    import('../../../../ground/core/address/list-json.js'),
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
  return { entries, faults: error === undefined ? [] : sentencesOf(error) }
}

/** A sentence for each wrong line. */
function sentencesOf({ message, details }: NonNullable<EntryFaults['error']>): readonly string[] {
  const all = Object.values(details)
  if (all.length <= faultsShown) return all.length === 0 ? [message] : all
  return [...all.slice(0, faultsShown), `${all.length - faultsShown} more lines can't be read.`]
}

const faultsShown = 10

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
