/** Keys of objects: a pattern that an account gives, with placeholders. */
import { createHash } from 'node:crypto'
import { shown } from '../../../ground/core/errors.js'
import { getOrMake } from '../../../ground/core/maps.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { eventTypeIn } from '../kind/event-type.js'

export const patternDefault = 'weir/{kind}/{yyyy}/{mm}/{dd}/{name}.ndjson.gz'
/** S3's own limit, in bytes. */
const keyCharsMax = 1024

/** Each placeholder, and the longest text that replaces it. */
const longest = {
  kind: 'k'.repeat(128),
  date: '2026-11-20',
  yyyy: '2026',
  mm: '11',
  dd: '20',
  hour: '10',
  destination: 'ed_'.padEnd(64, '0'),
  name: `20261120T100000Z-${'0'.repeat(32)}`,
}

type Placeholder = keyof typeof longest
type Values = Readonly<Record<Placeholder, string>>

export const placeholders = Object.keys(longest).map((name) => `{${name}}`)

const placeholderForm = /\{([^{}]*)\}/g

const rendered = (pattern: string, values: Values): string =>
  pattern.replaceAll(placeholderForm, (_, name: Placeholder) => values[name])

/** The problem with a pattern; the sentence continues after its name. */
export function brokenPattern(pattern: string): string | undefined {
  const named = [...pattern.matchAll(placeholderForm)].map(([, name]) => name!)
  const unknown = named.find((name) => !Object.hasOwn(longest, name))
  if (unknown !== undefined)
    return `the placeholder ${shown(`{${unknown}}`, 100)} is not one of ${placeholders.join(', ')}`
  if (!named.includes('name')) return 'the placeholder {name} is missing: objects would replace each other'
  const plain = pattern.replaceAll(placeholderForm, 'x')
  if (!/^[\w!.*'()=/-]+$/.test(plain))
    return "letters, digits, / ! - _ . * ' ( ) = and placeholders in braces are allowed"
  if (plain.split('/').some((part) => part === '' || part === '.' || part === '..'))
    return 'no part between slashes may be empty, "." or ".."'
  if (rendered(pattern, longest).length > keyCharsMax)
    return `the key could have more than ${keyCharsMax} characters`
  return undefined
}

/** The keys of a pattern as a policy of IAM names them. */
export const keysInPolicy = (pattern: string, destination: string): string =>
  pattern.replaceAll('{destination}', destination).replaceAll(placeholderForm, '*')

/** The values of an event's time, in UTC. */
function timeValues(ms: number) {
  const iso = new Date(ms).toISOString()
  const date = iso.slice(0, iso.indexOf('T'))
  const [yyyy, mm, dd] = date.split(/(?<=\d)-/) as [string, string, string]
  return { date, yyyy, mm, dd, hour: iso.slice(iso.indexOf('T') + 1).slice(0, 2) }
}

const msPerHour = 3_600_000

/** The events of an object. */
interface ObjectEvents {
  readonly indices: number[]
  readonly lines: Buffer[]
}

/**
 * Events by the keys of their objects, with the placeholder `{name}`: events whose keys differ in nothing else share one.
 */
export function objectsOf(
  events: readonly PackedEvent[],
  pattern: string,
  destination: string,
): Map<string, ObjectEvents> {
  const objects = new Map<string, ObjectEvents>()
  const keys = new Map<string, string>()
  for (const [index, event] of events.entries()) {
    const { data, timestampMs } = event
    const kind = eventTypeIn(data)
    const hour = Math.floor(timestampMs / msPerHour)
    const key = getOrMake(keys, `${hour} ${kind}`, () =>
      rendered(pattern, { ...timeValues(hour * msPerHour), kind, destination, name: '{name}' }),
    )
    const { indices, lines } = getOrMake(objects, key, () => ({ indices: [], lines: [] }))
    indices.push(index)
    lines.push(data)
  }
  return objects
}

/**
 * The name of an object: the time of its first event, and a hash of the ids of its events. The same events make the same
 * name again, in whatever order they come.
 */
export function withName(key: string, events: readonly Pick<PackedEvent, 'id' | 'timestampMs'>[]): string {
  const firstMs = events.reduce(
    (first, { timestampMs }) => Math.min(first, timestampMs),
    Number.POSITIVE_INFINITY,
  )
  const time = new Date(firstMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const ids = events.map(({ id }) => id).sort()
  const digest = createHash('sha256').update(ids.join('\n')).digest('hex').slice(0, 32)
  return key.replaceAll('{name}', `${time}-${digest}`)
}
