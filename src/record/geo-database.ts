/**
 * A GeoIP database: a file in the MaxMind DB format (https://maxmind.github.io/MaxMind-DB/), in the layout of GeoIP2,
 * GeoLite2 or DB-IP. The only file that uses the maxmind package.
 */
import { open, type Reader, type Response } from 'maxmind'
import type { AddressFamily } from '../core/address/ip.js'
import { messageOf, StartFault } from '../core/errors.js'
import { type Geo, geoOf } from './geo-entry.js'

/** Zero bytes between the search tree and the data. */
const separatorBytes = 16
/** Addresses of each family that are looked up when a file is opened, spread over all that it knows. */
const samples = 256
const treeDepthMax = 128

export class GeoDatabase {
  readonly path: string
  /** As the file says, such as `GeoLite2-City`. */
  readonly type: string
  /** The members that entries of this file have. */
  readonly members: ReadonlySet<keyof Geo>
  readonly #reader: Reader<Response>

  private constructor(path: string, reader: Reader<Response>) {
    this.path = path
    this.type = reader.metadata.databaseType
    this.#reader = reader
    checkSeparator(reader)
    this.members = new Set(sampled(reader).flatMap((entry) => Object.keys(geoOf(entry)) as (keyof Geo)[]))
  }

  /** Throws a `StartFault` that names the file if it is missing or damaged. */
  static async open(path: string): Promise<GeoDatabase> {
    try {
      return new GeoDatabase(path, await open<Response>(path))
    } catch (error) {
      const reason = messageOf(error).replace(/\.$/, '')
      throw new StartFault(`The GeoIP database ${path} (WEIR_GEOIP_DB) can't be read: ${reason}.`, {
        cause: error,
      })
    }
  }

  /** Undefined if the file knows nothing about the address. Throws if this part of the file is damaged. */
  find(address: string, family: AddressFamily): Geo | undefined {
    // A file with IPv4 only answers IPv6 addresses with the entry of their first 32 bits.
    if (family === 6 && this.#reader.metadata.ipVersion === 4) return undefined
    const entry = this.#reader.get(address)
    return entry === null ? undefined : geoOf(entry)
  }
}

/** What the types of the package hide, and its own reader uses. */
interface Inside {
  readonly db: Buffer
  /** The root of the IPv4 addresses. */
  readonly ipv4StartNodeNumber: number
  readonly walker: { left(offset: number): number; right(offset: number): number }
  resolveDataPointer(pointer: number): Response
}

const insideOf = (reader: Reader<Response>): Inside => reader as unknown as Inside

/** Finds a tree that is shorter or longer than the file says: nothing in it would be found. */
function checkSeparator(reader: Reader<Response>): void {
  const { searchTreeSize } = reader.metadata
  const separator = insideOf(reader).db.subarray(searchTreeSize, searchTreeSize + separatorBytes)
  if (separator.length < separatorBytes || separator.some((byte) => byte !== 0))
    throw new Error('its search tree is damaged: the 16 zero bytes behind it are missing')
}

/** Entries from all over a file, so that a damaged one is found at the start and not by a record. */
function sampled(reader: Reader<Response>): Response[] {
  const { nodeCount } = reader.metadata
  const inside = insideOf(reader)
  const pointers = new Set<number>()
  for (const root of [0, inside.ipv4StartNodeNumber]) {
    for (let sample = 0; sample < samples; sample += 1) {
      const pointer = descend(inside, reader.metadata, root, sample)
      if (pointer > nodeCount) pointers.add(pointer)
    }
  }
  return [...pointers].map((pointer) => inside.resolveDataPointer(pointer))
}

/** Follows the bits of a number from a node to an entry, again and again, and the other way wherever nothing is known. */
function descend(
  { walker }: Inside,
  { nodeCount, nodeByteSize }: Metadata,
  root: number,
  bits: number,
): number {
  let node = root
  for (let depth = 0; node < nodeCount; depth += 1) {
    if (depth > treeDepthMax) throw new Error('its search tree is damaged: it has no end')
    const offset = node * nodeByteSize
    const records = [walker.left(offset), walker.right(offset)]
    if ((bits >> (depth % 8)) & 1) records.reverse()
    node = records.find((record) => record !== nodeCount) ?? nodeCount
  }
  return node
}

type Metadata = Reader<Response>['metadata']
