/** Trials of a test: in this process, on the records of the test's own NATS. */

import type { GeoDatabases } from '../../src/delivery/record/geo.js'
import { openJobBucket } from '../../src/delivery/wire/job-bucket.js'
import type { Occurrences } from '../../src/ground/core/telemetry/occurrences.js'
import type { Nats } from '../../src/ground/nats/nats.js'
import { countSince, keptFrom, replay } from '../../src/ground/nats/stream-replay.js'
import { openExaminer } from '../../src/judging/trial/examiner.js'
import { runTrial } from '../../src/judging/trial/trial.js'
import type { StartTrial } from '../../src/judging/trial/trial-process.js'
import { Trials, trialJobs } from '../../src/management/insight/trials.js'
import { trafficEvents } from '../../src/words/event/catalog.js'
import type { View } from '../../src/words/view/view.js'
import { recordsStream, recordsSubjects } from './first-partition.js'

interface TrialsOptions {
  /** The connection of the API. */
  readonly nats: Nats
  /** Reads records. */
  readonly reader: Nats
  readonly view: View
  readonly geo: GeoDatabases
  readonly occurrences: Occurrences
}

/** Evaluates drafts in this process. */
export const inThisProcess =
  ({ reader, view, geo }: Omit<TrialsOptions, 'nats' | 'occurrences'>): StartTrial =>
  ({ accountId, sinceMs, untilMs, rows, policyId }, { rules = [], account }, progressed) => {
    const run = async () => {
      const draft = { rows, rules: policyId === undefined ? undefined : { policyId, rules }, account }
      const source = view.state
      const opened = await openExaminer({ accountId, draft, source, geo, eventKinds: trafficEvents })
      const stream = reader.stored(recordsStream, recordsSubjects)
      const keptFromMs = await keptFrom([stream])
      const messageCount = await countSince([stream], sinceMs)
      const read = { messages: replay(stream, sinceMs, 8), messageCount, keptFromMs }
      return runTrial({ accountId, untilMs, ...opened, ...read, progressed })
    }
    return { ended: run(), end: () => {} }
  }

export async function openTrials(options: TrialsOptions, start = inThisProcess(options)): Promise<Trials> {
  return new Trials({
    jobs: await openJobBucket(options.nats, trialJobs, 1024 * 1024),
    start,
    retentionMs: 7 * 24 * 60 * 60_000,
    occurrences: options.occurrences,
  })
}
