/** Geography of tests. */

import type { GeoDatabases } from '../../src/delivery/record/geo.js'
import type { Geo } from '../../src/delivery/record/geo-entry.js'

const all: GeoDatabases['members'] = new Set([
  ...(['country_code', 'country', 'city', 'subdivision', 'continent_code'] as const),
  ...(['latitude', 'longitude', 'radius', 'asn', 'as_org'] as const),
])

/** Databases with these answers. By default every name may have a value. */
export const geoOf = (lookup: (ip: string) => Geo = () => ({}), members = all): GeoDatabases => ({
  lookup,
  members,
  useless: [],
  files: [],
})
