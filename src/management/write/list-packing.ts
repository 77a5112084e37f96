/**
 * Reads a list of addresses, and cuts its entries into the parts in which they are stored. A part is cut behind
 * certain lines, whatever stands before them, so a feed that changes in a few places has the same parts elsewhere, and
 * these are not stored again.
 */

import { type Covered, CoveredCounts } from '../../ground/core/address/covered.js'
import { type ListEntry, lineOf } from '../../ground/core/address/list-entry.js'
import {
  type Entries,
  entriesInText,
  isJsonFormat,
  type ListFormat,
  type ListReading,
} from '../../ground/core/address/list-formats.js'
import { entriesInValue } from '../../ground/core/address/list-json.js'
import { now } from '../../ground/core/clock.js'
import { EntryFaults } from '../../ground/core/entry-faults.js'
import { badRequest } from '../../ground/core/errors.js'
import { hash128 } from '../../ground/core/ids.js'
import { ipListBytesPerAccountMax, ipListEntriesMax } from '../../ground/core/limits.js'
import type { Slices } from '../../ground/core/slices.js'
import { packText } from '../../ground/core/text/packed-text.js'
import type { Row } from '../../words/resource/kind/define.js'
import { decoded } from '../exchange/body/json-body.js'
import { parseLargeBody } from '../exchange/body/large-body.js'

/** Text that can't be compressed has a third more in base64: a part then still fits a resource. */
const chunkCharsMin = 64 * 1024
const chunkCharsMax = 144 * 1024
/** Entries between two looks at the clock: some 50 µs. */
const entriesPerLook = 64
/** One line of so many ends a part. */
const linesPerCut = 1024

export interface PackedChunk {
  readonly hash: string
  readonly entries: number
  readonly data: string
}

export interface PackedList {
  readonly chunks: readonly PackedChunk[]
  readonly entries: number
  readonly bytes: number
  readonly covered: Covered
}

/** Reads a list in the format that is named. Throws a `WeirError`. */
export async function packedList(
  bytes: Buffer,
  format: ListFormat,
  slices: Slices,
  { isFed }: Pick<ListReading, 'isFed'> = { isFed: false },
): Promise<PackedList> {
  const faults = new EntryFaults()
  const reading = { nowMs: now(), isFed }
  return packEntries(await entriesOf(bytes, format, slices, faults, reading), faults, slices)
}

const openBrace = 0x7b

/** The entries of a text, as they are asked for. */
export async function entriesOf(
  bytes: Buffer,
  format: ListFormat,
  slices: Slices,
  faults: EntryFaults,
  reading: ListReading,
): Promise<Entries> {
  // The networks of Cloudflare are published as text, and by its API as JSON.
  if (isJsonFormat(format) || (format === 'cloudflare' && bytes[0] === openBrace)) {
    const value = await parseLargeBody(bytes, slices)
    if (value === undefined) throw badRequest('The list is empty, which is no JSON.')
    return format === 'cloudflare'
      ? entriesInValue(cloudflareList(value), 'json', faults, reading)
      : entriesInValue(value, format, faults, reading)
  }
  return entriesInText(decoded(bytes), format, faults, reading)
}

/** `{"result": {"ipv4_cidrs": […], "ipv6_cidrs": […]}}` */
function cloudflareList(value: unknown): unknown {
  const { result } = (value ?? {}) as { readonly result?: Readonly<Record<string, unknown>> }
  const lists = [result?.['ipv4_cidrs'], result?.['ipv6_cidrs']].filter(Array.isArray)
  return lists.length === 0 ? value : lists.flat()
}

/** Throws a `WeirError` that names all that is wrong. */
export async function packEntries(
  entries: Entries,
  faults: EntryFaults,
  slices: Slices,
): Promise<PackedList> {
  const packer = new Packer()
  let seen = 0
  for (const entry of entries) {
    if (++seen % entriesPerLook === 0 && slices.isDue()) await slices.pause()
    if (entry !== undefined && packer.add(entry)) await packer.cut()
  }
  faults.throwIfAny()
  return packer.whole()
}

class Packer {
  readonly #chunks: PackedChunk[] = []
  #lines: string[] = []
  #chars = 0
  #entries = 0
  #bytes = 0
  readonly #covered = new CoveredCounts()

  /** True if the part ends here. */
  add(entry: ListEntry): boolean {
    this.#entries += 1
    if (this.#entries > ipListEntriesMax)
      throw badRequest(`The list has more than ${ipListEntriesMax} entries: at most so many are allowed.`)
    this.#covered.add(entry.cidr)
    const line = lineOf(entry)
    this.#lines.push(line)
    // A character of a comment may take three bytes, as an ASCII text of three characters does.
    this.#chars += entry.comment === null ? line.length + 1 : Buffer.byteLength(line) + 1
    return this.#chars >= chunkCharsMax || (this.#chars >= chunkCharsMin && isCut(line))
  }

  async cut(): Promise<void> {
    const text = this.#lines.join('\n')
    const data = await packText(text)
    this.#bytes += data.length
    if (this.#bytes > ipListBytesPerAccountMax)
      throw badRequest(
        `The entries take more than ${ipListBytesPerAccountMax} bytes, compressed: at most so many are stored for an account. Shorten their comments, or send fewer.`,
      )
    this.#chunks.push({ hash: hash128(text), entries: this.#lines.length, data })
    this.#lines = []
    this.#chars = 0
  }

  async whole(): Promise<PackedList> {
    if (this.#lines.length > 0) await this.cut()
    return { chunks: this.#chunks, entries: this.#entries, bytes: this.#bytes, covered: this.#covered }
  }
}

/** Depends on the line alone (FNV-1a). */
function isCut(line: string): boolean {
  let hash = 0x811c9dc5
  for (let index = 0; index < line.length; index += 1)
    hash = Math.imul(hash ^ line.charCodeAt(index), 0x01000193)
  return ((hash >>> 8) & (linesPerCut - 1)) === 0
}

/** Parts in one change: it must fit a message, and so must a group of writes. */
export const bytesPerChange = 384 * 1024

/** Of parts as rows. */
export const packedBytes = (rows: readonly Row[]): number =>
  rows.reduce((sum, { data }) => sum + String(data).length, 0)

/** Parts that fit one change each. */
export function* inChanges(rows: readonly Row[]): Generator<readonly Row[]> {
  let some: Row[] = []
  for (const row of rows) {
    if (some.length > 0 && packedBytes([...some, row]) > bytesPerChange) {
      yield some
      some = []
    }
    some.push(row)
  }
  yield some
}
