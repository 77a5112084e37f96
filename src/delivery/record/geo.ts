/**
 * Looks addresses up in GeoIP databases: files in the MaxMind DB format (https://maxmind.github.io/MaxMind-DB/), in the
 * layout of GeoIP2, GeoLite2 or DB-IP.
 */

import { open, type Reader, type Response } from 'maxmind'
import {
  type AddressFamily,
  type AddressWords,
  formatAddress,
  parseAddress,
} from '../../ground/core/address/ip.js'
import { messageOf, StartFault } from '../../ground/core/errors.js'
import { type Geo, geoOf } from './geo-entry.js'

export interface GeoLookup {
  /** The result is shared between calls: never change it. */
  lookup(ip: string): Geo
}

/** The databases of a deployment. */
export interface GeoDatabases extends GeoLookup {
  /** The members that they have for at least one address. The others never have a value in this deployment. */
  readonly members: ReadonlySet<keyof Geo>
  /** All files, with the type that each names, and when it was built. */
  readonly files: readonly { readonly path: string; readonly type: string; readonly builtAtMs: number }[]
  /** Files that know nothing that Weir reads, such as a database of domains. */
  readonly useless: readonly { readonly file: string; readonly type: string }[]
}

/** Addresses in the memo: about 200 bytes each. */
const memoAddressesMax = 16_384

const unknownGeo: Geo = Object.freeze({})

/**
 * Opens MMDB files in the layout of GeoIP2, GeoLite2 or DB-IP. An earlier file wins; later ones add missing members.
 * Throws a `StartFault` that names the file when one is missing or damaged. `failed` is called when a lookup fails.
 */
export async function openGeo(
  paths: readonly string[],
  failed: () => void = () => {},
): Promise<GeoDatabases> {
  return new MergedGeo(await Promise.all(paths.map((path) => GeoDatabase.open(path))), failed)
}

class MergedGeo implements GeoDatabases {
  readonly members: ReadonlySet<keyof Geo>
  readonly files: GeoDatabases['files']
  readonly useless: GeoDatabases['useless']
  readonly #databases: readonly GeoDatabase[]
  readonly #failed: () => void
  /**
   * Clients come back, and a lookup in a file costs fifty times a lookup here. IPv4 addresses are known by their number,
   * others by a text of their own: one that was cut out of a message would keep all of it.
   */
  readonly #memo = new Map<number | string, Geo>()

  constructor(databases: readonly GeoDatabase[], failed: () => void) {
    this.#databases = databases
    this.#failed = failed
    this.members = new Set(databases.flatMap(({ members }) => [...members]))
    this.files = databases
    this.useless = databases
      .filter(({ members }) => members.size === 0)
      .map(({ path, type }) => ({ file: path, type }))
  }

  lookup(ip: string): Geo {
    const { family, words } = parseAddress(ip)
    if (family === 0) return unknownGeo
    const known = this.#memo.get(family === 4 ? words[3] | 0 : ip)
    return known ?? this.#search(family, words)
  }

  #search(family: AddressFamily, words: AddressWords): Geo {
    const address = formatAddress(family, words)
    const geo: Geo = {}
    for (const database of this.#databases)
      Object.assign(geo, { ...this.#find(database, address, family), ...geo })
    if (this.#memo.size >= memoAddressesMax) this.#memo.clear()
    this.#memo.set(family === 4 ? words[3] | 0 : address, Object.freeze(geo))
    return geo
  }

  /** In a damaged part of a file nothing is known; the record is not bad for it. */
  #find(database: GeoDatabase, address: string, family: AddressFamily): Geo | undefined {
    try {
      return database.find(address, family)
    } catch {
      this.#failed()
      return undefined
    }
  }
}

/** Zero bytes between the search tree and the data. */
const separatorBytes = 16
/** Addresses of each family that are looked up when a file is opened, spread over all that it knows. */
const samples = 256
const treeDepthMax = 128

/** One file. */
class GeoDatabase {
  readonly path: string
  /** As the file says, such as `GeoLite2-City`. */
  readonly type: string
  readonly builtAtMs: number
  /** The members that entries of this file have. */
  readonly members: ReadonlySet<keyof Geo>
  readonly #reader: Reader<Response>

  private constructor(path: string, reader: Reader<Response>) {
    this.path = path
    this.type = reader.metadata.databaseType
    this.builtAtMs = reader.metadata.buildEpoch.getTime()
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

/** Members that the package's types hide and its own reader uses. */
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
