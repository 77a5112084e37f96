/** The lines of a message of the ledger. */
import { gunzipSync } from 'node:zlib'
import { bufferOf } from '../../ground/core/bytes.js'
import { isObject } from '../../ground/core/json-object.js'
import type { LedgerEntry } from './ledger.js'

const gzipMagic = 0x1f
/** Far more than a writer puts into a message; what a few bytes inflate to is not held beyond it. */
const inflatedBytesMax = 256 * 1024 * 1024

/** The entries of a message. A line that is none is left out, and `damaged` is called with the reason. */
export function* readEntries(
  data: Uint8Array,
  damaged: (reason: Error) => void = () => {},
): Generator<LedgerEntry> {
  let line = 0
  for (const text of linesIn(data, damaged)) {
    line += 1
    const entry = entryIn(text)
    if (entry !== undefined) yield entry
    else damaged(new Error(`The line ${line} is no entry of the ledger.`))
  }
}

function linesIn(data: Uint8Array, damaged: (reason: Error) => void): string[] {
  try {
    const isPacked = data[0] === gzipMagic
    const bytes = isPacked ? gunzipSync(data, { maxOutputLength: inflatedBytesMax }) : bufferOf(data)
    const lines = bytes.toString().split('\n')
    // The last one ends with a line break, too.
    if (lines.pop() !== '' || lines.length === 0) damaged(new Error('The message has no end.'))
    return lines
  } catch (error) {
    damaged(error as Error)
    return []
  }
}

function entryIn(line: string): LedgerEntry | undefined {
  try {
    const entry: unknown = JSON.parse(line)
    if (!isObject(entry) || typeof entry['type'] !== 'string') return undefined
    const check = Object.hasOwn(checks, entry['type'])
      ? checks[entry['type'] as LedgerEntry['type']]
      : undefined
    // A type of a newer version is ignored by the books.
    return check === undefined || check(entry) ? (entry as unknown as LedgerEntry) : undefined
  } catch {
    return undefined
  }
}

type Members = Readonly<Record<string, unknown>>

const isText = (value: unknown): boolean => typeof value === 'string'
const isCount = (value: unknown): boolean => Number.isSafeInteger(value)
const isList = (value: unknown, isEach: (each: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isEach)
const isTuple =
  (...forms: readonly ((value: unknown) => boolean)[]) =>
  (value: unknown): boolean =>
    Array.isArray(value) &&
    value.length === forms.length &&
    forms.every((isForm, index) => isForm(value[index]))
const isMissingOr =
  (isForm: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || isForm(value)

const isName = isTuple(isText, isText, isText)
const isTally = isTuple(isText, isText, isText, isCount, isCount)
const isPair = isTuple(isCount, isCount)
const isAsked = isTuple(isText, isCount)
const isKind = isTuple(isText, isText)

const haveContents = ({ destination, pack, stream, since, segments }: Members): boolean =>
  [destination, pack, stream, since, segments].every(isText)

const areCounts = (counts: unknown): boolean =>
  isObject(counts) &&
  isCount(counts['records']) &&
  isList(counts['sources'], isTally) &&
  isMissingOr((asked) => isList(asked, isAsked))(counts['asked'])

const isDropped = (dropped: unknown): boolean =>
  isObject(dropped) &&
  isList(dropped['kinds'], isKind) &&
  [dropped['first'], dropped['last'], dropped['at']].every((each) => typeof each === 'number')

const checks: Readonly<Record<LedgerEntry['type'], (entry: Members) => boolean>> = {
  sources: ({ list, sources }) => isText(list) && isList(sources, isName),
  input: ({ stream, since, ranges, counts }) =>
    isText(stream) && isText(since) && isList(ranges, isPair) && areCounts(counts),
  // Entries of earlier versions lack the contents.
  pack: ({ destination, stream, since }) => isText(destination) && isText(stream) && isText(since),
  destination: ({ destination, target }) => isText(destination) && isText(target),
  delivered: (entry) =>
    haveContents(entry) &&
    isList(entry['dead'], isPair) &&
    isMissingOr(isDropped)(entry['dropped']) &&
    isObject(entry['last']),
  retried: ({ destination, retried }) => isText(destination) && isCount(retried),
  dropped: ({ destination }) => isText(destination),
  vanished: ({ destination, packs }) => isText(destination) && isList(packs, isText),
  replay_ended: ({ stream }) => isText(stream),
}
