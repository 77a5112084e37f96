/** The role `deliver`: packs ▸ AWS. */
import { openBooks } from '../delivery/books/keeper.js'
import { openAwsClock } from '../delivery/deliver/aws/aws-clock.js'
import { SharedBodies } from '../delivery/deliver/aws/shared-bodies.js'
import { Deliverer } from '../delivery/deliver/deliverer.js'
import { DeliveryLog } from '../delivery/deliver/delivery-log.js'
import { answerQuestions } from '../delivery/deliver/questions.js'
import { SharedPacks } from '../delivery/deliver/shared-packs.js'
import { destinationAccess } from '../delivery/deliver/test-event.js'
import { bucketNames } from '../delivery/wire/names.js'
import { openPartitions } from '../delivery/wire/partitions-in-use.js'
import { neededStreams, whenStream } from '../delivery/wire/streams.js'
import { Watched } from '../delivery/wire/watched.js'
import { expectSameKey } from '../ground/core/seal.js'
import { waitForBucket } from '../ground/nats/bucket-stream.js'
import type { Frame, Role } from '../management/process/child.js'
import { firstApiStart, openReadiness, roleOf } from '../management/process/readiness.js'
import { openAges, type RoleContext } from '../management/process/role-context.js'
import { openSealer } from '../management/process/secret-key.js'
import { DestinationConfigs } from '../words/view/destinations.js'
import { SecretsView } from '../words/view/secrets-view.js'
import { openView } from '../words/view/view.js'
import { beginDeliverCounters } from './begun-counters.js'
import { reportProcess } from './process-report.js'
import { connect, joinOthers, openLedger, writtenBy } from './role-parts.js'

export async function openDeliver(context: RoleContext, { parent, release }: Frame): Promise<Role> {
  const { settings, occurrences, standIns } = context
  beginDeliverCounters(occurrences)
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'deliver', readiness.waitsFor))
  reportProcess(nats, 'deliver', readiness, release)
  await joinOthers(context, nats, 'deliver', { parent, release, waitsFor: readiness.waitsFor })
  readiness.waitsFor(firstApiStart)
  const sealer = openSealer(settings.data)
  const view = release.own(await openView(nats, occurrences, ['event_destination']))
  readiness.waitsForView(view)
  await view.usable
  expectSameKey(view.state.meta?.key_fingerprint, sealer)
  const secrets = release.own(new SecretsView(await waitForBucket(nats, bucketNames.secrets)))
  await secrets.open()
  const partitions = release.own(await openPartitions(nats, settings.nats.partitions))
  for (const { deliveriesStream } of partitions.all) await whenStream(nats, deliveriesStream)
  const ledger = release.own(openLedger(context, nats))
  const books = parent === undefined ? release.own(await openBooks(nats, occurrences)) : undefined
  const watched = new Watched('destinations')
  release.own(watched.listen(nats, occurrences))
  const mode = settings.decisionLog.rows
  const deliveryLog = release.own(new DeliveryLog({ nats, mode, occurrences, watched }))
  const packs = new SharedPacks()
  const { openSender } =
    standIns ??
    destinationAccess(settings, {
      clock: openAwsClock(occurrences),
      cluster: nats.confirmed,
      bodies: new SharedBodies(packs),
    })
  const { metricsDestinationsMax } = settings.ops
  const { retentionMs, ownConsumersMax } = settings.nats
  const ages = release.own(openAges(context))
  const bounds = { retentionMs, ages, ownConsumersMax, metricsDestinationsMax }
  const deliverer = release.own(
    new Deliverer({ nats, partitions, ledger, occurrences, openSender, packs, deliveryLog, ...bounds }),
  )
  const destinations = new DestinationConfigs(secrets, sealer)
  const update = (): void => {
    const { configs, deletedIds } = destinations.in(view.state)
    void deliverer.update(configs, deletedIds)
  }
  view.onChange((kind) => {
    if (kind === 'event_destination' || kind === '*') update()
  })
  secrets.onChange(update)
  update()
  release.own(answerQuestions(nats, deliverer))
  const streams = (): readonly string[] => neededStreams(partitions.all).deliver
  const written = writtenBy(settings, 'deliver', partitions)
  await readiness.started({ nats, streams, written, view, books })
  return roleOf(readiness)
}
