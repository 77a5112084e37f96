/** The store, which only the API and the command line use. The other roles start without loading it. */
import { join } from 'node:path'
import { ReachableNetworks } from '../delivery/outgoing/private-networks.js'
import type { GeoLookup } from '../delivery/record/geo.js'
import { openPartitions, type Partitions } from '../delivery/wire/partitions-in-use.js'
import { reservedBytes, restoreStreams } from '../delivery/wire/streams.js'
import { now } from '../ground/core/clock.js'
import type { ReleaseStack } from '../ground/core/release.js'
import type { Sealer } from '../ground/core/seal.js'
import type { Nats } from '../ground/nats/nats.js'
import { AccountPolicies } from '../management/access/account-policies.js'
import { type KeyUses, openKeyUses } from '../management/access/key-uses.js'
import { BaseLinks, Presenter } from '../management/exchange/present.js'
import type { Frame } from '../management/process/child.js'
import type { Readiness } from '../management/process/readiness.js'
import type { RoleContext } from '../management/process/role-context.js'
import type { RoleVersions } from '../management/process/role-versions.js'
import { openSealer } from '../management/process/secret-key.js'
import type { Settings } from '../management/process/settings.js'
import { checkTlsFiles } from '../management/process/tls-files.js'
import { checkFeedLockout } from '../management/scheduled/feeds/feed-lockout.js'
import { openFeedStates } from '../management/scheduled/feeds/feed-states.js'
import { FeedStatuses } from '../management/scheduled/feeds/feed-status.js'
import { ListFeeds, type ListFeedsParts } from '../management/scheduled/feeds/list-feeds.js'
import type { Clickhouse } from '../management/store/clickhouse/clickhouse.js'
import type { DeliveryReader } from '../management/store/logs/delivery-reader.js'
import type { FailureReader } from '../management/store/logs/failure-reader.js'
import type { LogReader } from '../management/store/logs/log-reader.js'
import type { LogBounds } from '../management/store/logs/log-table.js'
import type { TrafficReader } from '../management/store/logs/traffic-reader.js'
import type { Store } from '../management/store/store.js'
import { hasAccounts } from '../management/store/stored-rows.js'
import type { VerifiedWrite } from '../management/store/verify.js'
import { renderBulk } from '../management/write/bulk-audits.js'
import { IpListEntries } from '../management/write/ip-list-entries.js'
import { PolicyTests } from '../management/write/policy-tests.js'
import { Writes } from '../management/write/writes.js'
import { sourceProblems as problemsOf } from '../words/event/check-source.js'
import { apiKey } from '../words/resource/api-key.js'
import { bouncer } from '../words/resource/bouncers/bouncer.js'
import { withChallengerState } from '../words/resource/challenger.js'
import { tcpAddressSpace } from '../words/resource/fields/tcp-address.js'
import { resources } from '../words/resource/registry.js'
import { tunnelCredential } from '../words/resource/tunnel-credential.js'
import { connect, joinOthers } from './role-parts.js'

export interface StoreParts {
  readonly store: Store
  readonly writes: Writes
  readonly presenter: Presenter
  readonly policies: AccountPolicies
  readonly policyTests: PolicyTests
  readonly listEntries: IpListEntries
  readonly feeds: ListFeeds
  /** How fetches of lists from their sources went. */
  readonly statuses: FeedStatuses
  /** The last use of each API key and tunnel credential. */
  readonly keyUses: KeyUses
  /** Is it certain that there is no such API key? */
  readonly isKeyDeleted: (keyId: string) => boolean
  readonly nats: Nats
  /** Which versions of the roles run; the command line is none, and knows of no trouble. */
  readonly versions: Pick<RoleVersions, 'troubles'>
  readonly partitions: Partitions
  readonly sealer: Sealer
  readonly clickhouse: Clickhouse
  readonly log: LogReader
  readonly deliveries: DeliveryReader
  readonly failures: FailureReader
  readonly traffic: TrafficReader
  /** If the NATS store was found wiped: one sentence about what was lost. */
  readonly loss: string | undefined
}

export async function openDatabase({ clickhouse, data }: Settings, connection?: object): Promise<Clickhouse> {
  checkTlsFiles('CLICKHOUSE_', clickhouse)
  const { openClickhouse } = await import('../management/store/clickhouse/clickhouse.js')
  return openClickhouse({ ...clickhouse, directory: join(data.dir, 'clickhouse'), connection })
}

export async function openStoreParts(
  context: RoleContext,
  { baseUrl, geo }: { readonly baseUrl: () => string; readonly geo: GeoLookup },
  release: ReleaseStack,
  start?: Pick<Readiness, 'waitsFor'> & Pick<Frame, 'parent'>,
): Promise<StoreParts> {
  const { openStore } = await import('../management/store/store.js')
  const { settings, occurrences, eventKinds, standIns } = context
  const sealer = openSealer(settings.data)
  const clickhouse = release.own(await openDatabase(settings, standIns?.clickhouse()))
  const nats = release.own(await connect(context, 'api', start?.waitsFor))
  // Before anything is written or made: what others could not read stays as it is.
  const versions = start && (await joinOthers(context, nats, 'api', { ...start, release }))
  const loss = await restoreStreams(nats, settings.nats, await hasAccounts(clickhouse), occurrences)
  const partitions = release.own(await openPartitions(nats, settings.nats.partitions))
  const bucketBytesMax = reservedBytes(settings.nats.storageMaxBytes)
  const isDeleted = (kind: string, id: string): boolean =>
    store.view.isComplete && store.view.state.rows.get(kind)?.has(id) !== true
  const isKeyDeleted = (keyId: string): boolean => isDeleted(apiKey.kind, keyId)
  const isUserDeleted = (id: string): boolean =>
    isDeleted(
      [tunnelCredential, bouncer].find(({ idPrefix }) => id.startsWith(idPrefix))?.kind ?? apiKey.kind,
      id,
    )
  const keyUses = release.own(await openKeyUses(nats, bucketBytesMax, occurrences, isUserDeleted))
  const feedStates = release.own(await openFeedStates(nats, bucketBytesMax))
  const statuses = new FeedStatuses(feedStates)
  const presenter = new Presenter(new BaseLinks(baseUrl), (resource, row) =>
    withChallengerState(resource, statuses.shown(resource, keyUses.shown(resource, row), now())),
  )
  const policies = new AccountPolicies()
  const policyTests = new PolicyTests({ policies, geo })
  const store: Store = await openStore({
    clickhouse,
    nats,
    resources,
    occurrences,
    sealer,
    bucketBytesMax,
    tcpDomain: settings.api.tcpDomain,
    waitsFor: start?.waitsFor,
    renderBulk: (rows, stateOf) => renderBulk(rows, presenter, stateOf),
    verify: (write) => verify(write, { policies, policyTests, keyUses }),
  })
  release.own(store)
  const sourceProblems = (source: unknown) => problemsOf(source as never, eventKinds)
  const writes = new Writes({ presenter, sealer, store, sourceProblems, ...madeWith(settings) })
  const listEntries = new IpListEntries({ store, writes })
  return {
    store,
    writes,
    listEntries,
    feeds: release.own(openFeeds(context, { store, sealer, listEntries, states: feedStates, statuses })),
    statuses,
    presenter,
    policies,
    policyTests,
    keyUses,
    isKeyDeleted,
    nats,
    versions: versions ?? { troubles: async () => [] },
    partitions,
    sealer,
    clickhouse,
    ...(await openLogs(clickhouse, settings)),
    loss,
  }
}

async function openLogs(clickhouse: Clickhouse, { decisionLog: { rows } }: Settings) {
  const { LogReader } = await import('../management/store/logs/log-reader.js')
  const { DeliveryReader } = await import('../management/store/logs/delivery-reader.js')
  const { FailureReader } = await import('../management/store/logs/failure-reader.js')
  const { TrafficReader } = await import('../management/store/logs/traffic-reader.js')
  return {
    log: new LogReader(clickhouse, rows),
    deliveries: new DeliveryReader(clickhouse, rows),
    failures: new FailureReader(clickhouse, rows),
    traffic: new TrafficReader(clickhouse, rows),
  }
}

/** The settings that change what writes make. */
const madeWith = ({ api: { tcpDomain, sshAnyHost } }: Settings) => ({
  tcpAddresses: tcpAddressSpace(tcpDomain),
  sshAnyHost,
})

/** The check of every write before it is committed. */
async function verify(
  write: VerifiedWrite,
  { policyTests, ...parts }: Pick<StoreParts, 'policies' | 'policyTests' | 'keyUses'>,
): Promise<void> {
  await policyTests.verify(write)
  await checkFeedLockout(write, parts)
}

/** Fetches nothing by itself until it is started. */
function openFeeds(
  { settings, occurrences }: RoleContext,
  parts: Pick<ListFeedsParts, 'store' | 'sealer' | 'listEntries' | 'states' | 'statuses'>,
): ListFeeds {
  const networks = new ReachableNetworks(settings.delivery.privateNetworks)
  return new ListFeeds({ ...parts, networks, directory: settings.lists.directory, occurrences })
}

/** How long and where rows of the log are kept; undefined if it is off. */
function logBounds({ decisionLog, nats }: Settings): LogBounds | undefined {
  const { rows, bytesMax, storagePolicy: policy, volume, moveAfterMs: afterMs } = decisionLog
  if (rows === 'off') return undefined
  const move = policy === undefined || volume === undefined ? undefined : { policy, volume, afterMs }
  return { retentionMs: nats.retentionMs, bytesMax, move }
}

/** The statements that make all tables and views of Weir itself. */
export async function ownTables(settings: Settings): Promise<readonly string[]> {
  const { clusterAt } = await import('../management/store/clickhouse/cluster.js')
  const { ddlOfResources } = await import('../management/store/clickhouse/migrate.js')
  const { ddlOfLogs } = await import('../management/store/logs/log-tables.js')
  const { url, cluster: name } = settings.clickhouse
  const cluster = url === undefined || name === undefined ? undefined : clusterAt(url, name)
  const bounds = logBounds(settings)
  return [...ddlOfResources(resources, cluster), ...(bounds === undefined ? [] : ddlOfLogs(bounds, cluster))]
}

/** Stores the rows of the decision log. Rows that other processes publish although it is off here stay in NATS. */
export async function openLogWriter(
  { settings, occurrences }: RoleContext,
  { nats, clickhouse }: StoreParts,
  release: ReleaseStack,
): Promise<void> {
  const bounds = logBounds(settings)
  if (bounds === undefined) return
  const { LogWriter } = await import('../management/store/logs/log-writer.js')
  release.own(new LogWriter({ nats, clickhouse, bounds, occurrences })).open()
}
