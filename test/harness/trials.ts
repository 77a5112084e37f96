/** Trials of a test: in this process, on the records of the test's own NATS. */

import type { Occurrences } from '../../src/core/telemetry/occurrences.js'
import { trafficEvents } from '../../src/event/catalog.js'
import { Trials, trialJobs } from '../../src/insight/trials.js'
import type { Nats } from '../../src/nats/nats.js'
import { replay } from '../../src/nats/stream-replay.js'
import type { GeoDatabases } from '../../src/record/geo.js'
import { openExaminer } from '../../src/trial/examiner.js'
import { runTrial } from '../../src/trial/trial.js'
import type { StartTrial } from '../../src/trial/trial-process.js'
import type { View } from '../../src/view/view.js'
import { openJobBucket } from '../../src/wire/job-bucket.js'
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
  ({ accountId, sinceMs, untilMs, rows, policyId }, rules, progressed) => {
    const run = async () => {
      const draft = { rows, rules: policyId === undefined ? undefined : { policyId, rules } }
      const source = view.state
      const opened = await openExaminer({ accountId, draft, source, geo, eventKinds: trafficEvents })
      const messages = replay(reader.stored(recordsStream, recordsSubjects), sinceMs, 8)
      return runTrial({ accountId, untilMs, ...opened, messages, progressed })
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
