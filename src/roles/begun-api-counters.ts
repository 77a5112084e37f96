/** Counters of the API that begin at 0 for the values that rooms declare, as in `begun-counters.ts`. */

import {
  apiBuckets,
  auditInStream,
  auditStream,
  behindBucket,
  booksBucket,
  bucketNames,
  deadLetterStream,
  decisionLogStream,
  ledgerStream,
  replaysBucket,
} from '../delivery/wire/names.js'
import type { PartitionSet } from '../delivery/wire/partitions.js'
import type { Occurrences } from '../ground/core/telemetry/occurrences.js'
import { streamOf } from '../ground/nats/bucket-stream.js'
import { answeredStatuses } from '../management/http/answer-counter.js'
import { boundsAtOnce } from '../management/http/bounds/at-once.js'
import type { WriteVerb } from '../management/store/change/change.js'
import { feedErrorCodes } from '../words/resource/fields/ip-list-source.js'
import { resources } from '../words/resource/registry.js'
import { findingKinds } from '../words/shape/finding.js'
import { overviewParts } from '../words/shape/overview.js'

const buckets = [...Object.values(bucketNames), ...apiBuckets, replaysBucket, behindBucket, booksBucket]
const changeVerbs: readonly WriteVerb[] = ['create', 'update', 'delete']
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Streams whose number of partitions does not change, and the streams of buckets. */
const streams = [
  ...[auditStream, auditInStream, ledgerStream, decisionLogStream, deadLetterStream],
  ...buckets.map(streamOf),
]

export function beginApiCounters(occurrences: Occurrences, { all }: PartitionSet): void {
  for (const bound of Object.keys(boundsAtOnce))
    for (const scope of ['account', 'process']) occurrences.requestRefusedAtOnce({ bound, scope }, 0)
  for (const method of methods)
    for (const status of answeredStatuses) occurrences.requestServed({ method, status }, 0)
  for (const part of overviewParts) occurrences.overviewPartUnread({ part }, 0)
  for (const kind of findingKinds) occurrences.findingsUnread({ kind }, 0)
  for (const code of feedErrorCodes) occurrences.listFeedFailed({ code }, 0)
  for (const { kind } of resources) {
    occurrences.rowForeign({ kind }, 0)
    for (const verb of changeVerbs) occurrences.resourceChanged({ kind, verb }, 0)
  }
  for (const stream of streams) occurrences.entryDamaged({ stream }, 0)
  for (const { recordsStream, deliveriesStream } of all) {
    for (const stream of [recordsStream, deliveriesStream]) occurrences.entryDamaged({ stream }, 0)
    occurrences.ageLimitLifted({ stream: recordsStream }, 0)
    occurrences.ageLimitRestored({ stream: recordsStream }, 0)
  }
}
