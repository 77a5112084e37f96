/**
 * The role `pipeline`: records ▸ walk ▸ packs; audit events, Weir's own and those of other services ▸ packs. One that runs
 * on its own runs a `decide` for itself.
 */
import { openBooks } from '../delivery/books/keeper.js'
import { SettledInput } from '../delivery/books/reading.js'
import { auditInStream, auditStream } from '../delivery/wire/names.js'
import { streamsOf } from '../delivery/wire/partitions.js'
import { openPartitions } from '../delivery/wire/partitions-in-use.js'
import { neededStreams, whenStream } from '../delivery/wire/streams.js'
import { Watched } from '../delivery/wire/watched.js'
import { AuditPipeline } from '../judging/pipeline/audit-pipeline.js'
import { auditsOfApi } from '../judging/pipeline/audit-sources.js'
import { BusyDestinations } from '../judging/pipeline/busy-destinations.js'
import { openCatchUps } from '../judging/pipeline/catch-ups.js'
import { DecisionLog } from '../judging/pipeline/decision-log.js'
import { FailureLog } from '../judging/pipeline/failure-log.js'
import { Janitor } from '../judging/pipeline/janitor.js'
import { Pipeline } from '../judging/pipeline/pipeline.js'
import { PreferredPartitions } from '../judging/pipeline/preferred-partitions.js'
import { Quarantine, quarantineTimes } from '../judging/pipeline/quarantine.js'
import { openReplayWork } from '../judging/pipeline/replay-work.js'
import { Shares } from '../judging/pipeline/shares.js'
import { Configuration } from '../judging/produce/compiled-configuration.js'
import type { Frame, Role } from '../management/process/child.js'
import { firstApiStart, openReadiness, roleOf } from '../management/process/readiness.js'
import type { RoleContext } from '../management/process/role-context.js'
import { destinationCount, destinationFinder } from '../words/view/destinations.js'
import { openView } from '../words/view/view.js'
import { beginPipelineCounters } from './begun-counters.js'
import { reportProcess } from './process-report.js'
import { forkQuarantine, type Program, startDecider } from './programs.js'
import { connect, joinOthers, openGeography, openLedger, writtenBy } from './role-parts.js'

export async function openPipeline(
  context: RoleContext,
  { parent, release }: Frame,
  program: Program,
): Promise<Role> {
  // Checks by schemas, which take long to load.
  const { auditsOfServices } = await import('../judging/pipeline/audit-sources.js')
  const { settings, occurrences, eventKinds, standIns } = context
  const geo = await openGeography(context, { warns: parent === undefined })
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'pipeline', readiness.waitsFor))
  reportProcess(nats, 'pipeline', readiness, release)
  await joinOthers(context, nats, 'pipeline', { parent, release, waitsFor: readiness.waitsFor })
  readiness.waitsFor(firstApiStart)
  const view = release.own(await openView(nats, occurrences))
  readiness.waitsForView(view)
  const configuration = release.own(new Configuration(view, occurrences, eventKinds, 'pipeline'))
  await configuration.open()
  const partitions = await openPartitions(nats, settings.nats.partitions)
  beginPipelineCounters(occurrences, eventKinds, partitions)
  const inputs = [auditStream, auditInStream, ...streamsOf(partitions.all)]
  for (const stream of inputs) await whenStream(nats, stream)
  const ledger = release.own(openLedger(context, nats))
  const books = parent === undefined ? release.own(await openBooks(nats, occurrences)) : undefined
  const destinationOf = destinationFinder(view)
  const settled = new SettledInput(nats)
  const { ownConsumersMax } = settings.nats
  const count = (): number => destinationCount(view.state)
  const busy = release.own(new BusyDestinations({ nats, partitions, occurrences, count, ownConsumersMax }))
  // Audit events keep their order, so those of a destination do not change between consumers because it is busy.
  const unchanging = { hasNext: () => busy.areFew }
  const auditDeps = { nats, partitions, busy: unchanging, view, ledger, settled, occurrences }
  for (const source of [auditsOfApi(auditDeps), auditsOfServices(auditDeps)])
    release.own(new AuditPipeline(auditDeps, source)).open()
  const fork = standIns?.forkQuarantine ?? (() => forkQuarantine(program))
  const quarantine = release.own(new Quarantine({ ...quarantineTimes, fork }))
  const watched = new Watched('accounts')
  release.own(watched.listen(nats, occurrences))
  const mode = settings.decisionLog.rows
  const decisionLog = release.own(new DecisionLog({ nats, mode, watched, occurrences }))
  const failureLog = release.own(new FailureLog({ nats, mode, occurrences }))
  const shares = new Shares(nats, partitions)
  const traffic = { nats, partitions, busy, configuration, geo, ledger, occurrences, shares }
  const replaying = { ...traffic, eventKinds, isBusy: () => [...pipelines].some(({ isBusy }) => isBusy) }
  const catchUps = release.own(await openCatchUps({ ...replaying, destinationOf }))
  release.own(new Janitor({ nats, partitions, ledger, occurrences, destinationOf, catchUps }))
  const preferred = new PreferredPartitions({ nats, partitions, occurrences })
  const parts = { ...traffic, preferred, settled, quarantine, decisionLog, failureLog, catchUps }
  const pipelines = new Set<Pipeline>()
  partitions.each((partition) => {
    const pipeline = new Pipeline({ ...parts, partition })
    pipelines.add(pipeline)
    pipeline.open()
    const close = async (): Promise<void> => {
      await pipeline.close()
      pipelines.delete(pipeline)
    }
    return { close }
  })
  release.own(partitions)
  release.own(preferred)
  release.own(await openReplayWork(replaying))
  const decider = parent === undefined ? release.own(startDecider(context, program)) : undefined
  await decider?.ready
  const streams = (): readonly string[] => neededStreams(partitions.all).pipeline
  const written = writtenBy(settings, 'pipeline', partitions)
  await readiness.started({ nats, streams, written, view, books, below: decider })
  return roleOf(readiness)
}
