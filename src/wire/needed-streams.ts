/**
 * The streams that each role reads or writes. A role is ready while all of them answer `STREAM.INFO`, a request that it
 * may always make for its own streams.
 */
import { streamOf } from '../nats/bucket-stream.js'
import {
  auditInStream,
  auditStream,
  behindBucket,
  booksBucket,
  bucketNames,
  deadLetterStream,
  deliveriesStream,
  ledgerStream,
  recordsStream,
  replaysBucket,
  trafficStreams,
} from './names.js'

const configuration = streamOf(bucketNames.config)

export const neededStreams = {
  /** The API creates all streams. */
  api: [
    ...trafficStreams,
    ...[...Object.values(bucketNames), booksBucket, replaysBucket, behindBucket].map(streamOf),
  ],
  pipeline: [
    configuration,
    streamOf(replaysBucket),
    streamOf(behindBucket),
    recordsStream,
    auditStream,
    auditInStream,
    deliveriesStream,
    deadLetterStream,
    ledgerStream,
  ],
  decide: [configuration],
  deliver: [configuration, streamOf(bucketNames.secrets), deliveriesStream, deadLetterStream, ledgerStream],
} as const
