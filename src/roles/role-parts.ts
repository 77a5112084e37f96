/** Parts that several roles open: a connection to NATS, the ledger, the GeoIP databases. */
import { join } from 'node:path'
import { LedgerWriter } from '../delivery/books/ledger.js'
import { type GeoDatabases, openGeo } from '../delivery/record/geo.js'
import type { PartitionSet } from '../delivery/wire/partitions.js'
import type { RoleName } from '../delivery/wire/role-formats.js'
import { writtenStreams } from '../delivery/wire/streams.js'
import { messageOf } from '../ground/core/errors.js'
import { type Nats, openNats } from '../ground/nats/nats.js'
import type { Frame } from '../management/process/child.js'
import type { Readiness } from '../management/process/readiness.js'
import type { RoleContext } from '../management/process/role-context.js'
import { RoleVersions } from '../management/process/role-versions.js'
import type { Settings } from '../management/process/settings.js'
import { natsFiles } from '../management/process/tls-files.js'
import type { Written } from '../management/process/write-watch.js'
import { beginVersionCounters } from './begun-counters.js'
import { isLocalNats } from './local-nats.js'

/** As the settings have it. `waitsFor` takes the reason for which there is no connection yet. */
export const connect = (
  { settings, occurrences, standIns }: RoleContext,
  role: string,
  waitsFor?: (what: () => string) => void,
): Promise<Nats> => {
  const { servers, replicas, inboxPrefix } = settings.nats
  if (servers === undefined) throw new Error(`The role ${role} needs NATS_URL.`)
  // The process that started the local server reports its version.
  const isVersionReported = isLocalNats(settings, role)
  const damagedDir = join(settings.data.dir, 'damaged')
  const unreachable = (reason: string): void => {
    occurrences.natsUnreachable({ reason })
    waitsFor?.(() => `NATS (${reason})`)
  }
  return openNats({
    servers,
    files: natsFiles(settings.nats),
    replicas,
    inboxPrefix,
    name: `weir ${role}`,
    isVersionReported,
    damagedDir,
    occurrences,
    unreachable,
    connect: standIns?.connectNats,
  })
}

/**
 * Says to the others what this process is, and waits while it and one of them would misunderstand each other. A child of
 * `serve` waits for no one: what runs with it is of its version.
 */
export async function joinOthers(
  { occurrences }: RoleContext,
  nats: Nats,
  role: RoleName,
  { parent, release, waitsFor }: Frame & Pick<Readiness, 'waitsFor'>,
): Promise<RoleVersions> {
  beginVersionCounters(occurrences, role)
  const versions = release.own(new RoleVersions({ nats, role, occurrences }))
  if (parent === undefined) await versions.whenUnderstood(waitsFor)
  else versions.works()
  return versions
}

/** The streams that a role writes, for its readiness. */
export const writtenBy = (
  settings: Settings,
  role: 'api' | 'pipeline' | 'deliver',
  { all }: Pick<PartitionSet, 'all'>,
): Written => ({
  role,
  streams: () => writtenStreams(all)[role],
  isServerLocal: isLocalNats(settings, role),
})

export const openLedger = ({ occurrences }: RoleContext, nats: Nats): LedgerWriter =>
  new LedgerWriter(nats, (error) => occurrences.ledgerUnwritten({ reason: messageOf(error) }))

/** `warns`: roles that share their settings would all warn of the same file. */
export async function openGeography(
  { settings, occurrences }: RoleContext,
  { warns }: { readonly warns: boolean },
): Promise<GeoDatabases> {
  const geo = await openGeo(settings.geo.databases, () => occurrences.geoLookupFailed({}))
  if (warns) for (const database of geo.useless) occurrences.geoDatabaseUseless(database)
  return geo
}
