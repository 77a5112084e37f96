/** What `weir doctor` and `GET /doctor` ask of a process of the API, put together from the parts that the process has. */

import { callerIdentity } from '../delivery/deliver/aws/aws.js'
import type { AwsClock } from '../delivery/deliver/aws/aws-clock.js'
import { requestTimeoutMsDefault } from '../delivery/deliver/kinds.js'
import type { GeoDatabases } from '../delivery/record/geo.js'
import { readable } from '../management/exchange/rows.js'
import { ownersIn } from '../management/insight/dead-letter-owner.js'
import { findingsOf } from '../management/insight/findings/findings.js'
import { DeadLetters } from '../management/operate/dead-letters.js'
import type { DestinationOperations } from '../management/operate/destination-operations.js'
import { type BundleParts, bundleFiles } from '../management/operate/doctor/bundle.js'
import { Doctor, type DoctorParts } from '../management/operate/doctor/doctor.js'
import { Overview } from '../management/operate/overview.js'
import type { RecordsLag } from '../management/operate/records-lag.js'
import { knownSecrets } from '../management/process/known-secrets.js'
import type { Readiness } from '../management/process/readiness.js'
import type { RoleContext } from '../management/process/role-context.js'
import { describeSettings } from '../management/process/settings.js'
import { eventDestination } from '../words/resource/event-destination.js'
import { destinationSecrets } from '../words/view/destinations.js'
import type { SecretsView } from '../words/view/secrets-view.js'
import type { StoreParts } from './store-parts.js'

interface Opened {
  readonly destinations: DestinationOperations
  readonly geo: GeoDatabases
  readonly lag: Pick<RecordsLag, 'now'>
  readonly clock: AwsClock
  readonly readiness: Pick<Readiness, 'metrics'>
  readonly secrets: SecretsView
}

export interface OpenedDoctor {
  readonly doctor: Doctor
  /** Files for those who help, by name. */
  readonly bundle: () => Promise<Readonly<Record<string, string>>>
}

export function openDoctor(context: RoleContext, parts: StoreParts, opened: Opened): OpenedDoctor {
  const looked = doctorParts(context, parts, opened)
  const ofDestinations = (): string[] => secretsOfDestinations(parts, opened.secrets)
  const bundled = bundleParts(context, looked, opened.readiness, ofDestinations)
  const secrets = (): string[] => [
    ...knownSecrets(context.settings),
    ...ofDestinations().filter((text) => text.length >= hiddenCharsMin),
  ]
  return { doctor: new Doctor(looked, { secrets }), bundle: () => bundleFiles(bundled) }
}

/** An account chooses its own secrets: a shorter one would take words out of what is said about others. */
const hiddenCharsMin = 6

function secretsOfDestinations(
  { store, sealer }: Pick<StoreParts, 'store' | 'sealer'>,
  secrets: SecretsView,
): string[] {
  const rows = [...(store.view.state.rows.get(eventDestination.kind)?.values() ?? [])]
  return rows.flatMap((row) => destinationSecrets(row, secrets, sealer))
}

function doctorParts(
  { settings, occurrences, eventKinds }: RoleContext,
  parts: StoreParts,
  { destinations, geo, lag, clock }: Opened,
): DoctorParts {
  const { store, nats, partitions, clickhouse, presenter, policies, statuses, keyUses, writes } = parts
  const { links } = presenter
  const { retentionMs, replicas } = settings.nats
  const stateOf = () => readable({ store })
  const letters = new DeadLetters({ nats, ownerOf: ownersIn(store.view) })
  const read = { ...parts, occurrences, destinations, letters, lag, links }
  const overview = new Overview({ ...read, stateOf, statuses, policies, retentionMs })
  const findings = {
    ...read,
    geo,
    eventKinds,
    sourceCounts: (id: string) => destinations.sourceCounts(id),
    lastUse: keyUses.lastUse.bind(keyUses),
    listStatus: statuses.of.bind(statuses),
    tcpDomain: writes.tcpDomain,
    policySet: policies.of.bind(policies),
  }
  return {
    nats,
    partitions,
    replicas,
    clickhouse,
    refusal: () => store.refusal,
    stateOf,
    destinations,
    awsIdentity: (region) =>
      callerIdentity(region, { aws: settings.aws, clock, requestTimeoutMs: requestTimeoutMsDefault }),
    lag,
    overviewOf: (accountId) => overview.of(accountId),
    findingsOf: (accountId) => findingsOf(findings, stateOf(), accountId),
    geo,
  }
}

const bundleParts = (
  { settings }: RoleContext,
  looked: DoctorParts,
  readiness: Opened['readiness'],
  secrets: () => readonly string[],
): BundleParts => ({
  ...looked,
  settings: describeSettings(settings),
  metrics: () => readiness.metrics(),
  secrets,
})
