/**
 * Lists of addresses in one JSON value: Weir's own form, those in which cloud providers publish their networks, and nft's.
 */
import type { EntryFaults } from '../entry-faults.js'
import { badRequest, shown } from '../errors.js'
import { isObject } from '../json-object.js'
import type { FoundEntry } from './list-entry.js'
import { type Entries, entryOrFault, type ListFormat, type ListReading, whyNotFed } from './list-formats.js'
import { nftEntries } from './list-nft.js'

type Values = Readonly<Record<string, unknown>>

/** The entries of a value; `json` stands for any of these forms. */
export function* entriesInValue(
  value: unknown,
  format: ListFormat,
  faults: EntryFaults,
  { isFed, nowMs }: ListReading,
): Entries {
  const read = formOf(value, format, nowMs)
  if (read === undefined) {
    faults.add('body', badRequest(wrongForm(format)))
    return
  }
  for (const { place, cidr, comment, expires, wrong } of read) {
    let entry = wrong ?? entryOrFault(cidr, comment, expires)
    if (isFed && typeof entry === 'object') entry = whyNotFed(entry) ?? entry
    if (typeof entry === 'object') yield entry
    else {
      faults.add(place, badRequest(`"${place}": ${entry}`))
      if (faults.isFull) return
      yield undefined
    }
  }
}

const members: Readonly<Record<string, string>> = {
  json: '{"entries": [{"cidr": …}]}',
  aws: '{"prefixes": [{"ip_prefix": …}], "ipv6_prefixes": […]}',
  gcp: '{"prefixes": [{"ipv4Prefix": …}]}',
  azure: '{"values": [{"properties": {"addressPrefixes": […]}}]}',
}

const wrongForm = (format: ListFormat): string =>
  `The list is not in the format "${format}", which is ${members[format]}.`

const listIn = (value: Values, name: string): readonly unknown[] | undefined => {
  const list = value[name]
  return Array.isArray(list) ? list : undefined
}

function formOf(value: unknown, format: ListFormat, nowMs: number): Iterable<FoundEntry> | undefined {
  if (Array.isArray(value)) return format === 'json' ? ownEntries(value, '') : undefined
  if (!isObject(value)) return undefined
  const isAny = format === 'json'
  const entries = listIn(value, 'entries')
  if (isAny && entries !== undefined) return ownEntries(entries, 'entries')
  const objects = listIn(value, 'nftables')
  if (isAny && objects !== undefined) return nftEntries(objects, nowMs)
  const values = listIn(value, 'values')
  if ((isAny || format === 'azure') && values !== undefined) return azureEntries(values)
  const prefixes = listIn(value, 'prefixes')
  const ipv6 = listIn(value, 'ipv6_prefixes')
  if (prefixes === undefined && ipv6 === undefined) return undefined
  const [first] = prefixes ?? []
  const isEmpty = first === undefined && ipv6 === undefined
  const isGcp = isObject(first) && ('ipv4Prefix' in first || 'ipv6Prefix' in first)
  if ((isGcp || isEmpty) && (isAny || format === 'gcp')) return gcpEntries(prefixes ?? [])
  return !isGcp && (isAny || format === 'aws') ? awsEntries(prefixes ?? [], ipv6 ?? []) : undefined
}

const entryMembers = ['cidr', 'comment', 'expires_at']

/** The entries of an array in Weir's own form. */
export function* ownEntries(entries: readonly unknown[], name: string): Generator<FoundEntry> {
  for (const [index, entry] of entries.entries()) {
    const place = `${name}[${index}]`
    if (!isObject(entry)) {
      yield { place, cidr: entry }
      continue
    }
    const { cidr, comment, expires_at } = entry
    yield {
      place: `${place}.cidr`,
      cidr,
      comment: textOf(comment),
      expires: textOf(expires_at),
      ...wrongMember(entry, place),
    }
  }
}

/** The first member that is wrong, unless that is the range. */
function wrongMember(
  entry: Values,
  place: string,
): Required<Pick<FoundEntry, 'place' | 'wrong'>> | undefined {
  for (const [name, value] of Object.entries(entry)) {
    if (!entryMembers.includes(name))
      return {
        place,
        wrong: `There is no field ${shown(name)}: supported are "${entryMembers.join('", "')}".`,
      }
    if (name !== 'cidr' && value !== null && typeof value !== 'string')
      return { place: `${place}.${name}`, wrong: `${shown(value)} is given: a text or null is needed.` }
  }
  return undefined
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const words = (...texts: readonly unknown[]): string =>
  texts.filter((text) => typeof text === 'string' && text !== '').join(' ')

/** A member of an object; anything else has none. */
const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

function* awsEntries(prefixes: readonly unknown[], ipv6: readonly unknown[]): Generator<FoundEntry> {
  for (const [list, name, member] of [
    [prefixes, 'prefixes', 'ip_prefix'],
    [ipv6, 'ipv6_prefixes', 'ipv6_prefix'],
  ] as const)
    for (const [index, each] of list.entries())
      yield {
        place: `${name}[${index}].${member}`,
        cidr: memberOf(each, member),
        comment: words(memberOf(each, 'service'), memberOf(each, 'region')),
      }
}

function* gcpEntries(prefixes: readonly unknown[]): Generator<FoundEntry> {
  for (const [index, each] of prefixes.entries()) {
    const member = memberOf(each, 'ipv4Prefix') === undefined ? 'ipv6Prefix' : 'ipv4Prefix'
    const comment = words(memberOf(each, 'service'), memberOf(each, 'scope'))
    yield { place: `prefixes[${index}].${member}`, cidr: memberOf(each, member), comment }
  }
}

function* azureEntries(values: readonly unknown[]): Generator<FoundEntry> {
  for (const [index, value] of values.entries()) {
    const name = textOf(memberOf(value, 'name'))
    const prefixes = memberOf(memberOf(value, 'properties'), 'addressPrefixes')
    const place = `values[${index}].properties.addressPrefixes`
    if (!Array.isArray(prefixes)) yield { place, cidr: prefixes }
    else
      for (const [number, cidr] of prefixes.entries())
        yield { place: `${place}[${number}]`, cidr, comment: name }
  }
}
