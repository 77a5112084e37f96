/** Processes that a role starts for one purpose, and ends: put together here from their parts, like roles in their pages. */

import { ownTimeAheadMs } from '../delivery/record/own-time.js'
import { PackWriter } from '../delivery/wire/pack.js'
import { recordsSubjects } from '../delivery/wire/partitions.js'
import { openPartitions } from '../delivery/wire/partitions-in-use.js'
import { now } from '../ground/core/clock.js'
import { ReleaseStack } from '../ground/core/release.js'
import { countSince, inOrder, keptFrom, replay } from '../ground/nats/stream-replay.js'
import { processMessage } from '../judging/pipeline/process-record.js'
import { tryRecords } from '../judging/pipeline/quarantine-child.js'
import { Configuration } from '../judging/produce/compiled-configuration.js'
import { openExaminer } from '../judging/trial/examiner.js'
import { runTrial } from '../judging/trial/trial.js'
import { type RunTrial, serveTrial } from '../judging/trial/trial-child.js'
import type { RoleContext } from '../management/process/role-context.js'
import { openView } from '../words/view/view.js'
import { connect, openGeography } from './role-parts.js'

/** Messages of records requested at once. */
const trialMessagesAtOnce = 32

/** Tries records that may crash the process. Only a pipeline starts it, as its child. */
export async function openQuarantine(context: RoleContext): Promise<void> {
  await using release = new ReleaseStack()
  const nats = release.own(await connect(context, 'quarantine'))
  const geo = await openGeography(context, { warns: false })
  const view = release.own(await openView(nats, context.occurrences))
  const configuration = release.own(
    new Configuration(view, context.occurrences, context.eventKinds, 'quarantine'),
  )
  await configuration.open()
  await tryRecords((bytes) => {
    const buffers = { packOf: () => new PackWriter() }
    processMessage({ bytes, storedAtMs: now() }, { view: configuration.current, geo, buffers })
  })
}

/** Longer than others wait: a busy machine gives a trial what is left. */
const reachWithinMs = 60_000

/** Evaluates one draft over recorded traffic. Only an API starts it, as its child. */
export async function openTrial(context: RoleContext): Promise<void> {
  const run: RunTrial = async ({ accountId, version, sinceMs, untilMs, isByOwnTime }, draft, progressed) => {
    await using release = new ReleaseStack()
    const nats = release.own(await connect(context, 'trial'))
    const geo = await openGeography(context, { warns: false })
    const view = release.own(await openView(nats, context.occurrences))
    await view.usable
    await view.reached(accountId, version, reachWithinMs)
    const { eventKinds } = context
    const opened = await openExaminer({ accountId, draft, source: view.state, geo, eventKinds })
    const partitions = release.own(await openPartitions(nats, context.settings.nats.partitions))
    // A record's own time may be somewhat later than when it was stored.
    const fromMs = isByOwnTime ? sinceMs - ownTimeAheadMs : sinceMs
    const ownSinceMs = isByOwnTime ? sinceMs : undefined
    const streams = partitions.all.map(({ recordsStream }) => nats.stored(recordsStream, recordsSubjects))
    const keptFromMs = await keptFrom(streams)
    const messageCount = await countSince(streams, fromMs)
    const messages = inOrder(streams.map((stream) => replay(stream, fromMs, trialMessagesAtOnce)))
    // Awaited here, so that the connection stays open until then.
    const read = { messages, messageCount, keptFromMs }
    return await runTrial({ accountId, untilMs, ownSinceMs, ...opened, ...read, progressed })
  }
  await serveTrial(run)
}
