/**
 * The streams that each role reads or writes. A role is ready while all of them answer `STREAM.INFO`, a call that it is
 * permitted for its own streams in any case.
 */
import { streamOf } from '../core/nats-bucket.js'
import { booksBucket } from '../deliver/books-keeper.js'
import { deliveriesStream } from '../deliver/destination-run.js'
import { ledgerStream } from '../deliver/ledger.js'
import { auditStream } from '../store/audit-relay.js'
import { bucketNames } from '../store/keys.js'
import { auditInStream, deadLetterStream, recordsStream, trafficStreams } from './streams.js'

const configuration = streamOf(bucketNames.config)

export const neededStreams = {
  /** It makes all of them. */
  api: [...trafficStreams, ...[...Object.values(bucketNames), booksBucket].map(streamOf)],
  pipeline: [
    configuration,
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
