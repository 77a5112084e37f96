/** Looks addresses up in GeoIP databases. The only file that uses the maxmind package. */
import { open, type Reader, type Response } from 'maxmind'
import { messageOf, StartFault } from '../core/errors.js'
import { type AddressFamily, formatAddress, sharedSlot } from '../core/ip.js'
import { geoMemoAddressesMax } from '../core/limits.js'

/** Unknown parts are absent. Names are English. */
export interface Geo {
  /** ISO 3166-1 alpha-2. */
  readonly country_code?: string
  readonly country?: string
  readonly city?: string
  /** State, province or county. */
  readonly subdivision?: string
  readonly continent_code?: string
  /** Degrees. */
  readonly latitude?: number
  readonly longitude?: number
  /** Around latitude and longitude, in kilometres. */
  readonly radius?: number
  /** Number of the autonomous system. */
  readonly asn?: number
  readonly as_org?: string
}

export interface GeoLookup {
  /** The result is shared between calls: never change it. */
  lookup(ip: string): Geo
}

const unknownGeo: Geo = Object.freeze({})

/**
 * Opens MMDB files in the layout of GeoIP2, GeoLite2 or DB-IP. An earlier file wins; later ones add missing fields.
 * Throws a `StartFault` that names the file when one is missing or corrupt.
 */
export async function openGeo(paths: readonly string[]): Promise<GeoLookup> {
  const readers = await Promise.all(paths.map(openDatabase))
  return new MergedGeo(readers)
}

type Database = Reader<Response>

async function openDatabase(path: string): Promise<Database> {
  try {
    const database = await open<Response>(path)
    probe(database)
    return database
  } catch (error) {
    const reason = messageOf(error).replace(/\.$/, '')
    throw new StartFault(`The GeoIP database ${path} (WEIR_GEOIP_DB) can't be read: ${reason}.`, {
      cause: error,
    })
  }
}

/** Reads samples from all over a file, so that a corrupt one is found at start and not by a record. */
function probe(database: Database): void {
  for (let first = 0; first < 256; first += 1) {
    database.get(`${first}.1.1.1`)
    if (database.metadata.ipVersion === 6) database.get(`2${first.toString(16).padStart(3, '0')}:1::1`)
  }
}

class MergedGeo implements GeoLookup {
  readonly #databases: readonly Database[]
  /**
   * Clients come back, and a lookup in a file costs fifty times a lookup here. IPv4 addresses are known by their number,
   * others by a text of their own: one that was cut out of a message would keep all of it.
   */
  readonly #memo = new Map<number | string, Geo>()

  constructor(databases: readonly Database[]) {
    this.#databases = databases
  }

  lookup(ip: string): Geo {
    const family = sharedSlot.read(ip)
    if (family === 0) return unknownGeo
    const known = this.#memo.get(family === 4 ? sharedSlot.words[3]! | 0 : ip)
    return known ?? this.#search(family)
  }

  /** Searches for the address in the shared slot. */
  #search(family: AddressFamily): Geo {
    const { words } = sharedSlot
    const address = formatAddress(family, words)
    const geo: Geo = {}
    for (const database of this.#databases) {
      // A file with IPv4 only answers IPv6 addresses with the entry of their first 32 bits.
      if (family === 6 && database.metadata.ipVersion === 4) continue
      Object.assign(geo, { ...geoOf(find(database, address)), ...geo })
    }
    if (this.#memo.size >= geoMemoAddressesMax) this.#memo.clear()
    this.#memo.set(family === 4 ? words[3]! | 0 : address, Object.freeze(geo))
    return geo
  }
}

/** In a damaged part of a file nothing is known; the record is not bad for it. */
function find(database: Database, address: string): unknown {
  try {
    return database.get(address)
  } catch {
    return undefined
  }
}

/** Both layouts at once: GeoIP2 nests (`country.iso_code`), DB-IP builds are flat (`country_code`). */
function geoOf(entry: unknown): Geo {
  const text = (...path: string[]) => nonEmpty(memberAt(entry, path))
  const number = (...path: string[]) => finite(memberAt(entry, path))
  return withoutAbsent({
    country_code: text('country', 'iso_code') ?? text('country_code'),
    country: text('country', 'names', 'en') ?? text('country_name'),
    city: text('city', 'names', 'en') ?? text('city'),
    subdivision: text('subdivisions', '0', 'names', 'en') ?? text('state1'),
    continent_code: text('continent', 'code') ?? text('continent_code'),
    latitude: number('location', 'latitude') ?? number('latitude'),
    longitude: number('location', 'longitude') ?? number('longitude'),
    radius: number('location', 'accuracy_radius'),
    asn: number('autonomous_system_number') ?? number('traits', 'autonomous_system_number'),
    as_org: text('autonomous_system_organization') ?? text('traits', 'autonomous_system_organization'),
  })
}

function memberAt(entry: unknown, path: readonly string[]): unknown {
  let value = entry
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

const nonEmpty = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Some builds write numbers as text. */
function finite(value: unknown): number | undefined {
  if (typeof value !== 'number' && (typeof value !== 'string' || value === '')) return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

const withoutAbsent = (fields: { [Name in keyof Geo]: Geo[Name] | undefined }): Geo =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
