/** The GeoIP databases of a role. */

import type { RoleContext } from '../process/role-context.js'
import { type GeoDatabases, openGeo } from '../record/geo.js'

/** `warns`: roles that share their settings would all warn of the same file. */
export async function openGeography(
  { settings, occurrences }: RoleContext,
  { warns }: { readonly warns: boolean },
): Promise<GeoDatabases> {
  const geo = await openGeo(settings.geo.databases, () => occurrences.geoLookupFailed({}))
  if (warns) for (const database of geo.useless) occurrences.geoDatabaseUseless(database)
  return geo
}
