/**
 * The output of `ipset save` (ipset(8), and its output in version 7.17): a set, then its entries. An option means what the
 * manual says; a line with one that a list can't express, or with an unknown one, is refused.
 */
import { shown } from '../errors.js'
import { maskOf } from './cidr.js'
import { parseAddress } from './ip.js'

/** The options of a set that are about its entries. */
interface IpSet {
  /** The prefix of entries that are written without one. */
  readonly netmask: string | undefined
  /** Seconds that an entry lasts that does not say it; 0: for ever. */
  readonly timeout: number
}

/** A range and what is said about it. */
interface IpSetEntry {
  readonly range: string
  readonly comment: string | undefined
  /** Seconds; 0 if it never ends. */
  readonly timeout: number
}

/** Sets whose entries are addresses or networks, and nothing else. */
const setTypes: ReadonlySet<string> = new Set(['hash:ip', 'hash:net', 'bitmap:ip'])

/** Options with a value that say nothing about which addresses a set has, and for how long. */
const setDetails = ['family', 'range', 'hashsize', 'maxelem', 'bucketsize', 'initval']
const entryDetails = ['packets', 'bytes', 'skbmark', 'skbprio', 'skbqueue']
/** Options without a value that say neither. */
const flags = ['counters', 'comment', 'skbinfo', 'forceadd', '-exist']

const word = /"([^"]*)"|(\S+)/g
const wholeNumber = /^\d{1,10}$/

export const isIpsetLine = (line: string): boolean => line.startsWith('add ') || line.startsWith('create ')

/** A set has the default values of its entries, so lines are read in their order. Undefined for a line without an entry. */
export function ipsetReader(): (line: string) => IpSetEntry | string | undefined {
  const sets = new Map<string, IpSet>()
  return (line) => {
    const [verb, name = '', third = '', ...rest] = wordsOf(line)
    if (verb === 'create') {
      const set = setOf(name, third, rest)
      if (typeof set === 'string') return set
      sets.set(name, set)
      return undefined
    }
    if (name === 'element') return 'It is a command of nft: what ipset saves is read.'
    return entryOf(third, rest, sets.get(name))
  }
}

const wordsOf = (line: string): string[] =>
  Array.from(line.matchAll(word), ([, quoted, bare]) => quoted ?? bare ?? '')

function setOf(name: string, type: string, rest: readonly string[]): IpSet | string {
  if (!setTypes.has(type))
    return `The set ${shown(name)} is of the type ${shown(type)}; its entries are addresses alone in sets of the types ${[...setTypes].join(', ')}.`
  const options = optionsIn(rest, ['netmask', 'bitmask', 'timeout'], setDetails, flags)
  if (typeof options === 'string') return options
  const { bitmask, timeout = '0' } = options
  const netmask = bitmask === undefined ? options.netmask : prefixOfMask(bitmask)
  if (bitmask !== undefined && netmask === undefined)
    return `The set ${shown(name)} has the bitmask ${shown(bitmask)}, which is no prefix: an IP list can't express it.`
  if (netmask !== undefined && !wholeNumber.test(netmask))
    return `The set ${shown(name)} has the netmask ${shown(netmask)}; the length of a prefix is needed.`
  if (!wholeNumber.test(timeout)) return brokenTimeout(timeout)
  return { netmask, timeout: Number(timeout) }
}

/** `255.255.255.0` is `24`. Undefined for a mask with gaps. */
function prefixOfMask(mask: string): string | undefined {
  const { family, words } = parseAddress(mask)
  if (family === 0) return undefined
  const [bits, before] = family === 4 ? [32, 96] : [128, 0]
  const prefix = Array.from({ length: bits + 1 }, (_, length) => length).find((length) =>
    words.every((word, index) => index * 32 < before || word === maskOf(index, before + length)),
  )
  return prefix === undefined ? undefined : String(prefix)
}

function entryOf(range: string, rest: readonly string[], set: IpSet | undefined): IpSetEntry | string {
  if (rest.includes('nomatch'))
    return `${shown(range)} is taken out of its set ("nomatch"), which an IP list can't express.`
  const options = optionsIn(rest, ['timeout', 'comment'], entryDetails, ['-exist'])
  if (typeof options === 'string') return options
  const { timeout, comment } = options
  if (timeout !== undefined && !wholeNumber.test(timeout)) return brokenTimeout(timeout)
  const isWhole = set?.netmask === undefined || range.includes('/')
  return {
    range: isWhole ? range : `${range}/${set.netmask}`,
    comment,
    timeout: timeout === undefined ? (set?.timeout ?? 0) : Number(timeout),
  }
}

const brokenTimeout = (text: string): string => `The timeout ${shown(text)} is no number of seconds.`

/** Values by the names of options, or what is wrong. `ignored` ones have a value, too; `flags` have none. */
function optionsIn<Name extends string>(
  words: readonly string[],
  names: readonly Name[],
  ignored: readonly string[],
  flags: readonly string[],
): Readonly<Partial<Record<Name, string>>> | string {
  const found: Partial<Record<Name, string>> = {}
  for (let index = 0; index < words.length; index += 1) {
    const name = words[index]!
    if (flags.includes(name)) continue
    const known = names.find((each) => each === name)
    if (known === undefined && !ignored.includes(name))
      return `The option ${shown(name)} of ipset is not known.`
    index += 1
    const value = words[index]
    if (value === undefined) return `The option ${shown(name)} of ipset has no value.`
    if (known !== undefined) found[known] = value
  }
  return found
}
