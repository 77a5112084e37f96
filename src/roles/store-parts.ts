/** The store, which only the API and the command line use. The other roles start without loading it. */
import { join } from 'node:path'
import { now } from '../core/clock.js'
import type { ReleaseStack } from '../core/release.js'
import { Sealer } from '../core/seal.js'
import { ReachableNetworks } from '../deliver/private-networks.js'
import { sourceProblems as problemsOf } from '../event/check-source.js'
import { type KeyUses, openKeyUses } from '../http/caller/key-uses.js'
import { BaseLinks, Presenter } from '../http/present.js'
import type { Nats } from '../nats/nats.js'
import type { RoleContext } from '../process/role-context.js'
import { secretKey } from '../process/secret-key.js'
import type { Settings } from '../process/settings.js'
import type { GeoLookup } from '../record/geo.js'
import { apiKey } from '../resource/api-key.js'
import { bouncer } from '../resource/bouncers/bouncer.js'
import { withChallengerState } from '../resource/challenger.js'
import { tcpAddressSpace } from '../resource/fields/tcp-address.js'
import { resources } from '../resource/registry.js'
import { tunnelCredential } from '../resource/tunnel-credential.js'
import type { Clickhouse } from '../store/clickhouse/clickhouse.js'
import type { DeliveryReader } from '../store/logs/delivery-reader.js'
import type { FailureReader } from '../store/logs/failure-reader.js'
import type { LogReader } from '../store/logs/log-reader.js'
import type { LogBounds } from '../store/logs/log-table.js'
import type { TrafficReader } from '../store/logs/traffic-reader.js'
import type { Store } from '../store/store.js'
import { hasAccounts } from '../store/stored-rows.js'
import type { VerifiedWrite } from '../store/verify.js'
import { openPartitions, type Partitions } from '../wire/partitions-in-use.js'
import { reservedBytes, restoreStreams } from '../wire/streams.js'
import { AccountPolicies } from '../write/account-policies.js'
import { renderBulk } from '../write/bulk-audits.js'
import { checkFeedLockout } from '../write/feeds/feed-lockout.js'
import { openFeedStates } from '../write/feeds/feed-states.js'
import { FeedStatuses } from '../write/feeds/feed-status.js'
import { ListFeeds, type ListFeedsParts } from '../write/feeds/list-feeds.js'
import { IpListEntries } from '../write/ip-list-entries.js'
import { PolicyTests } from '../write/policy-tests.js'
import { Writes } from '../write/writes.js'
import { connect } from './role-parts.js'

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

export async function openDatabase({ clickhouse, data }: Settings): Promise<Clickhouse> {
  const { openClickhouse } = await import('../store/clickhouse/clickhouse.js')
  return openClickhouse({ ...clickhouse, directory: join(data.dir, 'clickhouse') })
}

export async function openStoreParts(
  context: RoleContext,
  { baseUrl, geo }: { readonly baseUrl: () => string; readonly geo: GeoLookup },
  release: ReleaseStack,
  waitsFor?: (what: () => string) => void,
): Promise<StoreParts> {
  const { openStore } = await import('../store/store.js')
  const { LogReader } = await import('../store/logs/log-reader.js')
  const { DeliveryReader } = await import('../store/logs/delivery-reader.js')
  const { FailureReader } = await import('../store/logs/failure-reader.js')
  const { TrafficReader } = await import('../store/logs/traffic-reader.js')
  const { settings, occurrences, eventKinds } = context
  const sealer = new Sealer(secretKey(settings.data))
  const clickhouse = release.own(await openDatabase(settings))
  const nats = release.own(await connect(context, 'api'))
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
    keyFingerprint: sealer.fingerprint,
    bucketBytesMax,
    tcpDomain: settings.api.tcpDomain,
    waitsFor,
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
    ...{ nats, partitions, sealer, clickhouse },
    log: new LogReader(clickhouse, settings.decisionLog.rows),
    deliveries: new DeliveryReader(clickhouse, settings.decisionLog.rows),
    failures: new FailureReader(clickhouse, settings.decisionLog.rows),
    traffic: new TrafficReader(clickhouse, settings.decisionLog.rows),
    loss,
  }
}

/** The settings that change what writes make. */
const madeWith = ({ api: { tcpDomain, sshAnyHost } }: Settings) => ({
  tcpAddresses: tcpAddressSpace(tcpDomain),
  sshAnyHost,
})

/** What is checked of every write before it is committed. */
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
  const { clusterAt } = await import('../store/clickhouse/cluster.js')
  const { ddlOfResources } = await import('../store/clickhouse/migrate.js')
  const { ddlOfLogs } = await import('../store/logs/log-tables.js')
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
  const { LogWriter } = await import('../store/logs/log-writer.js')
  release.own(new LogWriter({ nats, clickhouse, bounds, occurrences })).open()
}
