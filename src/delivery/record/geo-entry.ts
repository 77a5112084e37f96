/** The data of a GeoIP database about an address. */

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

/** Both layouts at once: GeoIP2 nests (`country.iso_code`), DB-IP builds are flat (`country_code`). */
export function geoOf(entry: unknown): Geo {
  const text = (...path: string[]) => nonEmpty(memberAt(entry, path))
  const number = (...path: string[]) => finite(memberAt(entry, path))
  return withoutAbsent({
    country_code: codeOf(text('country', 'iso_code') ?? text('country_code')),
    country: text('country', 'names', 'en') ?? text('country_name'),
    city: text('city', 'names', 'en') ?? text('city'),
    subdivision: text('subdivisions', '0', 'names', 'en') ?? text('state1'),
    continent_code: codeOf(text('continent', 'code') ?? text('continent_code')),
    latitude: within('latitude', number('location', 'latitude') ?? number('latitude')),
    longitude: within('longitude', number('location', 'longitude') ?? number('longitude')),
    radius: within('radius', number('location', 'accuracy_radius')),
    asn: within('asn', number('autonomous_system_number') ?? number('traits', 'autonomous_system_number')),
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

/** Codes of countries and continents. */
export const isGeoCode = (text: string): boolean => /^[A-Z][A-Z\d]$/.test(text)

function codeOf(text: string | undefined): string | undefined {
  const code = text?.toUpperCase()
  return code !== undefined && isGeoCode(code) ? code : undefined
}

export const geoRanges = {
  latitude: { min: -90, max: 90 },
  longitude: { min: -180, max: 180 },
  /** Half of the way around the earth. */
  radius: { min: 0, max: 20_040 },
  asn: { min: 0, max: 2 ** 32 - 1 },
}

/** A number that can't be one is not known. */
function within(member: keyof typeof geoRanges, value: number | undefined): number | undefined {
  const { min, max } = geoRanges[member]
  return value !== undefined && value >= min && value <= max ? value : undefined
}

const withoutAbsent = (members: { [Name in keyof Geo]: Geo[Name] | undefined }): Geo =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** The name of each member of a client's geography, in expressions, filters and events. */
const geoNames: Readonly<Record<keyof Geo, string>> = {
  country_code: 'conn.geo.country_code',
  country: 'conn.geo.country',
  city: 'conn.geo.city',
  subdivision: 'conn.geo.subdivision',
  continent_code: 'conn.geo.continent_code',
  latitude: 'conn.geo.latitude',
  longitude: 'conn.geo.longitude',
  radius: 'conn.geo.radius',
  asn: 'conn.asn',
  as_org: 'conn.as_org',
}

/**
 * Names of expressions that never have a value in a deployment, because no GeoIP database of it has them. `members`: what
 * the databases of the deployment know.
 */
export const missingNames = (members: ReadonlySet<keyof Geo>): ReadonlySet<string> =>
  new Set(
    Object.entries(geoNames).flatMap(([member, name]) => (members.has(member as keyof Geo) ? [] : [name])),
  )

export const missingNote =
  'It never has a value here: no GeoIP database of this deployment (WEIR_GEOIP_DB) has it.'
