/** Configuration, identity and state of streams. */
import {
  DiscardPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { millis, nanos, type ServerInfo } from '@nats-io/nats-core'
import { randomToken } from '../core/clock.js'
import { supports } from './server-versions.js'

export interface StreamOptions {
  readonly name: string
  readonly subjects: readonly string[]
  readonly retention: 'limits' | 'workqueue'
  readonly bytesMax: number
  /** 0: messages may get any age. */
  readonly ageMaxMs: number
  readonly messageBytesMax?: number
  /** Equal message ids within this time are stored once. */
  readonly duplicateWindowMs: number
  readonly discard: 'new' | 'old'
  /** Clients may publish by fast ingest, if the server has it. */
  readonly fastIngest?: true
}

/** `allow_batched`: the client library does not know this member. */
type ConfiguredStream = Partial<StreamConfig> & { readonly allow_batched?: true } & Pick<
    StreamConfig,
    'name' | 'subjects' | 'max_bytes' | 'max_age' | 'num_replicas' | 'duplicate_window'
  >

type Server = Pick<ServerInfo, 'version' | 'cluster'> | undefined

/** `server`: the one that this process is connected to. */
export const streamConfig = (options: StreamOptions, replicas: number, server: Server): ConfiguredStream => ({
  name: options.name,
  subjects: [...options.subjects],
  retention: options.retention === 'workqueue' ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: options.discard === 'new' ? DiscardPolicy.New : DiscardPolicy.Old,
  max_bytes: options.bytesMax,
  max_age: nanos(options.ageMaxMs),
  duplicate_window: nanos(Math.min(options.duplicateWindowMs, options.ageMaxMs || Number.POSITIVE_INFINITY)),
  num_replicas: replicas,
  allow_direct: true,
  ...(options.messageBytesMax === undefined ? {} : { max_msg_size: options.messageBytesMax }),
  ...(options.fastIngest && hasFastIngest(server) && { allow_batched: true }),
})

/**
 * Not in a cluster: its servers may have different versions while they are replaced, and one without the feature stops its
 * replica of a stream that uses it. There, an operator allows it.
 */
const hasFastIngest = (server: Server): boolean =>
  server?.cluster === undefined && supports(server?.version, 'fastIngest')

/**
 * The part of an existing stream's configuration that follows the settings. An age limit that was lifted stays so: the
 * process that lifts it, for messages that are still needed, also puts it back.
 */
export function changeableConfig(config: ConfiguredStream, present: StreamInfo): Partial<StreamConfig> {
  const { subjects, num_replicas, duplicate_window, max_msg_size, allow_batched } = config
  const max_bytes = roomOf(config.max_bytes, present)
  const max_age = hasAgeLimit(present) ? config.max_age : 0
  return {
    subjects,
    max_bytes,
    max_age,
    num_replicas,
    duplicate_window,
    ...(max_msg_size !== undefined && { max_msg_size }),
    ...(allow_batched !== undefined && { allow_batched }),
  }
}

export const ageLimit = (ageMaxMs: number): Pick<StreamConfig, 'max_age'> => ({ max_age: nanos(ageMaxMs) })

/** How long the stream keeps a message; undefined if its age does not matter. */
export const ageMaxMsOf = ({ config }: Pick<StreamInfo, 'config'>): number | undefined =>
  config.max_age === 0 ? undefined : millis(config.max_age)

export const hasAgeLimit = ({ config }: Pick<StreamInfo, 'config'>): boolean => config.max_age !== 0

/**
 * The size limit of a stream. If a stream shrinks below its contents, nats-server removes the oldest messages, whatever
 * the stream's discard policy: a stream shrinks only once it holds no more than half of the new limit.
 */
export const roomOf = (wantedBytes: number, { config, state }: StreamInfo): number =>
  state.bytes > wantedBytes / 2 ? Math.max(wantedBytes, config.max_bytes) : wantedBytes

/**
 * Distinguishes a stream from a recreated one of the same name. The server's own creation time does not: after a change
 * of the stream's limits and a restart, it is the time of the change (nats-server #8470: 2.9 and, as reported, later
 * versions up to August 2026). Stored books and consumers name this identity, so it outlives that defect.
 */
export const streamIdentity = ({ config, created }: StreamInfo): string => {
  const { description } = config
  return description?.startsWith(identityHead) ? description.slice(identityHead.length) : String(created)
}

const identityHead = 'stream '

export const newStreamIdentity = (): string => `${identityHead}${randomToken(12)}`

/** A stream's leader exchanges a heartbeat with each replica every second; some in a row must be missed. */
const replicaSilentMs = 2_500

/**
 * Why nothing can be stored in a stream of several replicas: it has no leader, or its leader reaches no majority. Such
 * a leader keeps answering requests for some 20 s before it steps down (nats-server 2.9 and 2.10).
 */
export function quorumProblem({ cluster }: Pick<StreamInfo, 'cluster'>): string | undefined {
  const replicas = cluster?.replicas ?? []
  if (cluster === undefined || replicas.length === 0) return undefined
  if (!cluster.leader) return 'The stream has no leader: nothing can be stored in it.'
  const heard = replicas.filter(({ active }) => millis(active) <= replicaSilentMs).length
  const [servers, answering] = [replicas.length + 1, heard + 1]
  if (2 * answering > servers) return undefined
  return `Of the stream's ${servers} servers ${answering} can be reached: nothing can be stored in it.`
}
