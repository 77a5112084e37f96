/** Names of expressions that never have a value in a deployment, because no GeoIP database of it has them. */
import type { Geo } from './geo-entry.js'

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

/** `members`: what the databases of the deployment know. */
export const missingNames = (members: ReadonlySet<keyof Geo>): ReadonlySet<string> =>
  new Set(
    Object.entries(geoNames).flatMap(([member, name]) => (members.has(member as keyof Geo) ? [] : [name])),
  )

export const missingNote =
  'It never has a value here: no GeoIP database of this deployment (WEIR_GEOIP_DB) has it.'
