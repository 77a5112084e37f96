/** Looks addresses up in GeoIP databases. */
import { type AddressFamily, type AddressWords, formatAddress, parseAddress } from '../core/address/ip.js'
import { GeoDatabase } from './geo-database.js'
import type { Geo } from './geo-entry.js'

export interface GeoLookup {
  /** The result is shared between calls: never change it. */
  lookup(ip: string): Geo
}

/** The databases of a deployment. */
export interface GeoDatabases extends GeoLookup {
  /** What they know about some address at least. The other members never have a value in this deployment. */
  readonly members: ReadonlySet<keyof Geo>
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
