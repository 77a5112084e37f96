/** Which streams are in a backup, in their order: see `manifest.ts` for why it is this one. */
import {
  auditInStream,
  auditStream,
  behindBucket,
  bucketNames,
  deadLetterStream,
  inputConsumer,
  keyUseBucket,
} from '../../../delivery/wire/names.js'
import type { Partition } from '../../../delivery/wire/partitions.js'
import { streamOf } from '../../../ground/nats/bucket-stream.js'
import type { Nats } from '../../../ground/nats/nats.js'
import type { CopiedConsumer } from '../../../ground/nats/stream-copies.js'
import type { BackupWriter } from './archive.js'
import { type CopiedFile, fileOf, type StreamInBackup } from './manifest.js'

type Copying = Pick<Nats, 'copies' | 'streamInfo'>

interface Copied {
  /** So many bytes more, which the server has compressed. */
  some(stream: string, bytes: number): void
  all(stream: string): void
}

/** Of one file: a checksum is known before much is read. */
const fileBytesMax = 8 * 1024 * 1024

/** Before the versions of accounts are read. */
export const firstStreams: readonly string[] = [streamOf(bucketNames.idempotency)]

/** Each is copied before those that take over what leaves it. */
export const movingStreams = (partitions: readonly Partition[]): readonly string[] => [
  ...partitions.map(({ recordsStream }) => recordsStream),
  auditStream,
  auditInStream,
  streamOf(behindBucket),
  ...partitions.map(({ deliveriesStream }) => deliveriesStream),
  deadLetterStream,
]

export const lastStreams: readonly string[] = [streamOf(keyUseBucket)]

/** Those that pipelines read with a consumer of their own: a work queue needs none, its messages are those that wait. */
const hasPosition = (stream: string, partitions: readonly Partition[]): boolean =>
  [auditStream, auditInStream, ...partitions.map(({ recordsStream }) => recordsStream)].includes(stream)

interface CopyOptions {
  readonly nats: Copying
  readonly partitions: readonly Partition[]
  readonly writer: BackupWriter
  readonly copied: Copied
  /** Of the names of files. */
  readonly round: number
}

/** Copies streams one after another; one that is missing is left out. */
export async function copyStreams(names: readonly string[], options: CopyOptions): Promise<StreamInBackup[]> {
  const copies: StreamInBackup[] = []
  for (const name of names) {
    const copy = await copyStream(name, options)
    if (copy !== undefined) copies.push(copy)
  }
  return copies
}

async function copyStream(
  name: string,
  { nats, partitions, writer, copied, round }: CopyOptions,
): Promise<StreamInBackup | undefined> {
  // From before the copy: everything behind the position is in it.
  const consumers: CopiedConsumer[] = []
  if (hasPosition(name, partitions)) {
    const consumer = await nats.copies.consumer(name, inputConsumer)
    if (consumer !== undefined) consumers.push(consumer)
  }
  const snapshot = await nats.copies.snapshot(name)
  if (snapshot === undefined) return undefined
  const { config, state, chunks } = snapshot
  const files: CopiedFile[] = []
  const write = (bytes: Buffer): void => {
    const file = `streams/${name}.${round}.${String(files.length).padStart(5, '0')}`
    writer.add(file, bytes)
    files.push(fileOf(file, bytes))
  }
  let waiting: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    waiting.push(chunk)
    size += chunk.length
    copied.some(name, chunk.length)
    if (size < fileBytesMax) continue
    write(Buffer.concat(waiting))
    waiting = []
    size = 0
  }
  if (size > 0) write(Buffer.concat(waiting))
  copied.all(name)
  return { config, state, consumers, files }
}

/** How many dead letters left since then: they expired, or were sent again or dropped. */
export async function lettersLeft(nats: Copying, before: Letters): Promise<number> {
  const now = await lettersNow(nats)
  return before.messages + (now.last - before.last) - now.messages
}

interface Letters {
  readonly messages: number
  readonly last: number
}

export async function lettersNow(nats: Copying): Promise<Letters> {
  const info = await nats.streamInfo(deadLetterStream)
  return { messages: info?.state.messages ?? 0, last: info?.state.last_seq ?? 0 }
}
