/**
 * The formats of what roles write for one another, and what each process says of itself, so that two which would
 * misunderstand each other do not work at the same time.
 *
 * **Raise `written`** with a change that readers of the version before would misread or lose: processes of the new version
 * then wait until none of those readers runs. **Raise `readFrom`** when a form is no longer read. If the data at rest must
 * not be opened by an older version any more, `core/files/data-format.ts` says so, too.
 */
import { jsonOf } from '../../ground/core/bytes.js'
import { version } from '../../ground/core/package.js'

export type RoleName = 'api' | 'pipeline' | 'decide' | 'deliver'

interface SharedFormat {
  readonly readFrom: number
  readonly written: number
  readonly writers: readonly RoleName[]
  readonly readers: readonly RoleName[]
  /** In a sentence: "can't read …". */
  readonly what: string
}

const everyRole: readonly RoleName[] = ['api', 'pipeline', 'decide', 'deliver']
const traffic: readonly RoleName[] = ['pipeline', 'decide', 'deliver']

const sharedFormats: Readonly<Record<string, SharedFormat>> = {
  configuration: {
    readFrom: 1,
    written: 1,
    writers: ['api'],
    readers: everyRole,
    what: 'the configuration',
  },
  records: {
    readFrom: 1,
    written: 1,
    writers: ['api'],
    readers: ['pipeline'],
    what: 'records',
  },
  /** 1: every event whole. 2: what events have in common, once (`event-template.ts`). */
  packs: {
    readFrom: 1,
    written: 2,
    writers: ['pipeline'],
    readers: ['deliver'],
    what: 'packs',
  },
  books: {
    readFrom: 1,
    written: 1,
    writers: ['pipeline', 'deliver'],
    readers: ['api', 'pipeline', 'deliver'],
    what: 'the books',
  },
  log: {
    readFrom: 1,
    written: 1,
    writers: traffic,
    readers: ['api'],
    what: 'rows of the decision log',
  },
  dead_letters: {
    readFrom: 1,
    written: 1,
    writers: ['pipeline', 'deliver'],
    readers: ['api'],
    what: 'dead letters',
  },
}

type Range = readonly [readFrom: number, written: number]

/** `works`: it has begun. `starts`: it may begin at any time. `waits`: for others to end. */
type RoleState = 'starts' | 'waits' | 'works'

/** What a process says of itself. */
export interface Announcement {
  /** Unique for each process. */
  readonly process: string
  readonly role: RoleName
  readonly version: string
  readonly state: RoleState
  /** Why it waits, as a clause. */
  readonly waitsFor?: string | undefined
  readonly formats: Readonly<Record<string, Range>>
}

const ownFormats = Object.fromEntries(
  Object.entries(sharedFormats).map(([name, { readFrom, written }]): [string, Range] => [
    name,
    [readFrom, written],
  ]),
)

export const announcementOf = (
  process: string,
  role: RoleName,
  state: RoleState,
  waitsFor?: string,
): Announcement => ({ process, role, version, state, waitsFor, formats: ownFormats })

/** A deliverer of a version that says nothing of itself: it reads the first form of everything. */
export const silentDeliverer: Announcement = {
  process: '',
  role: 'deliver',
  version: 'before 0.2.0',
  state: 'works',
  formats: Object.fromEntries(Object.keys(sharedFormats).map((name): [string, Range] => [name, [1, 1]])),
}

const versionForm = /^[\w.+-]{1,40}$/
const reasonCharsMax = 2_000
const states: readonly string[] = ['starts', 'waits', 'works'] satisfies RoleState[]

/** Undefined if it is none. */
export function announcementIn(data: Uint8Array): Announcement | undefined {
  try {
    const { process, role, version: by, state, waitsFor, formats } = jsonOf<Record<string, unknown>>(data)
    const isSaid =
      typeof process === 'string' &&
      everyRole.includes(role as RoleName) &&
      typeof by === 'string' &&
      versionForm.test(by) &&
      states.includes(state as string) &&
      (waitsFor === undefined || (typeof waitsFor === 'string' && waitsFor.length <= reasonCharsMax)) &&
      typeof formats === 'object' &&
      formats !== null
    return isSaid ? ({ process, role, version: by, state, waitsFor, formats } as Announcement) : undefined
  } catch {
    return undefined
  }
}

/** A version that does not name a format has nothing to do with it: it neither writes nor reads it. */
function rangeOf({ formats }: Announcement, name: string): Range {
  const range: unknown = formats[name]
  const isRange = Array.isArray(range) && range.length === 2 && range.every(Number.isSafeInteger)
  return isRange ? (range as unknown as Range) : [0, 0]
}

/** Two processes that must not work at the same time: the reader would misread or lose what the writer writes. */
export interface Conflict {
  readonly writer: Announcement
  readonly reader: Announcement
  readonly what: string
  /** The one that has to be replaced. */
  readonly older: Announcement
}

/** The first reason why two can't work at the same time; undefined if they can. */
export function conflictOf(one: Announcement, other: Announcement): Conflict | undefined {
  for (const [name, { writers, readers, what }] of Object.entries(sharedFormats)) {
    for (const [writer, reader] of [
      [one, other],
      [other, one],
    ] as const) {
      if (!writers.includes(writer.role) || !readers.includes(reader.role)) continue
      const [, written] = rangeOf(writer, name)
      const [from, to] = rangeOf(reader, name)
      if (written > to) return { writer, reader, what, older: reader }
      if (written < from) return { writer, reader, what, older: writer }
    }
  }
  return undefined
}

/**
 * Whom a process must wait for before it begins: all that are older, unless they wait themselves; and of those that are
 * newer, the ones that work.
 */
export function obstaclesOf(own: Announcement, others: readonly Announcement[]): Conflict[] {
  return others.flatMap((other) => {
    const conflict = conflictOf(own, other)
    if (conflict === undefined) return []
    const counts = conflict.older === other ? other.state !== 'waits' : other.state === 'works'
    return counts ? [conflict] : []
  })
}

const nouns: Readonly<Record<RoleName, string>> = {
  api: 'an API',
  pipeline: 'a pipeline',
  decide: 'a `decide`',
  deliver: 'a deliverer',
}

export const named = ({ role, version: by }: Announcement): string => `${nouns[role]} of Weir ${by}`

/** Who can't read what of whom, as a clause. */
export const clauseOf = ({ writer, reader, what }: Conflict): string =>
  `${named(reader)} can't read ${what} written by ${named(writer)}`
