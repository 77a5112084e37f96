/** NATS, as the API's process sees it: version, clock, rights, storage and streams. */
import type { StreamInfo } from '@nats-io/jetstream'
import { inputConsumer } from '../../../delivery/wire/names.js'
import { type PartitionSet, streamsOf } from '../../../delivery/wire/partitions.js'
import { neededStreams } from '../../../delivery/wire/streams.js'
import { monotonicMs, now } from '../../../ground/core/clock.js'
import { messageOf } from '../../../ground/core/errors.js'
import { roughSizeText } from '../../../ground/core/text/plural.js'
import type { Nats } from '../../../ground/nats/nats.js'
import { outdatedBecause } from '../../../ground/nats/server-versions.js'
import { quorumProblem } from '../../../ground/nats/streams.js'
import { type DoctorLine, doctorLine } from '../../../words/shape/doctor.js'
import { roomProblem } from '../../process/stream-watch.js'
import { counted } from '../destination-attention.js'
import { clockAdvice } from './process-checks.js'

export interface NatsParts {
  readonly nats: Pick<
    Nats,
    'storing' | 'flush' | 'streamInfo' | 'consumerInfo' | 'isConnected' | 'payloadBytesMax'
  >
  readonly partitions: Pick<PartitionSet, 'all'>
  /** How many servers should have each stream. */
  readonly replicas: number
}

/** Each message waits for so long at least. */
const slowMs = 50
const clockDoubtMs = 2_000
const clockBadMs = 60_000
/** Of a limit. */
const shareOfConcern = 0.8

export async function natsLines(parts: NatsParts): Promise<DoctorLine[]> {
  if (!parts.nats.isConnected)
    return [
      doctorLine('nats', 'bad', 'The connection to NATS is lost.', {
        advice:
          'See whether the server runs and can be reached at the address of NATS_URL; its log says why it ended.',
      }),
    ]
  return [
    ...(await serverLines(parts)),
    ...(await storageLines(parts)),
    ...(await streamLines(parts)),
    ...(await clockLine(parts)),
  ]
}

async function serverLines({ nats }: NatsParts): Promise<DoctorLine[]> {
  const beganMs = monotonicMs()
  await nats.flush()
  const tookMs = Math.round(monotonicMs() - beganMs)
  const { version } = nats.storing
  const outdated = outdatedBecause(version)
  const slow =
    tookMs > slowMs
      ? [
          doctorLine('nats', 'warning', `The server took ${tookMs} ms for one answer.`, {
            advice: 'If it is often so, the server or the network between is overloaded.',
          }),
        ]
      : []
  if (outdated !== undefined)
    return [
      ...slow,
      doctorLine('nats', 'warning', `nats-server ${version} should be replaced. ${outdated}`, {
        advice: 'Install a newer nats-server; operating.md says which versions were tried.',
      }),
    ]
  return [
    ...slow,
    doctorLine(
      'nats',
      'good',
      `nats-server ${version} answers in ${tookMs} ms, and no published fault of it is known here.`,
    ),
  ]
}

async function storageLines({ nats }: NatsParts): Promise<DoctorLine[]> {
  const { storage, limits } = await nats.storing.account()
  const max = limits.max_storage
  if (max <= 0)
    return [
      doctorLine(
        'nats_storage',
        'good',
        `The account has ${roughSizeText(storage)} stored, and no limit of its own.`,
      ),
    ]
  const state = storage > max * shareOfConcern ? 'warning' : 'good'
  const advice =
    state === 'good' ? {} : { advice: 'Raise the limit of the account or server, or lower WEIR_STORAGE_MAX.' }
  return [
    doctorLine(
      'nats_storage',
      state,
      `The account has ${roughSizeText(storage)} of ${roughSizeText(max)} stored.`,
      advice,
    ),
  ]
}

async function streamLines({ nats, partitions, replicas }: NatsParts): Promise<DoctorLine[]> {
  const names = neededStreams(partitions.all).api
  const lines = await Promise.all(
    names.map(async (name) => {
      try {
        return streamLine(name, await nats.streamInfo(name), replicas, nats.payloadBytesMax)
      } catch (error) {
        return doctorLine('nats_streams', 'bad', `JetStream does not answer for it: ${messageOf(error)}.`, {
          about: name,
        })
      }
    }),
  )
  const found = lines.filter((line) => line !== undefined)
  if (found.length > 0) return found
  return [
    doctorLine(
      'nats_streams',
      'good',
      `${counted(names.length, 'stream')} are there, with room and ${counted(replicas, 'replica')} each.`,
    ),
  ]
}

/** Undefined if all is well with it. */
export function streamLine(
  name: string,
  info: StreamInfo | undefined,
  replicas: number,
  payloadBytesMax: number,
): DoctorLine | undefined {
  const about = { about: name }
  if (info === undefined)
    return doctorLine('nats_streams', 'bad', 'The stream is missing.', {
      ...about,
      advice: 'The API makes missing streams every ten seconds: its log says why it can not.',
    })
  const stopped = quorumProblem(info) ?? roomProblem(info, payloadBytesMax)
  if (stopped !== undefined)
    return doctorLine('nats_streams', 'bad', stopped, {
      ...about,
      advice: 'Nothing new is taken until that is mended: see alerts.md.',
    })
  const { config, state, cluster } = info
  const behind = (cluster?.replicas ?? []).filter(({ current, offline }) => offline || !current)
  if (behind.length > 0)
    return doctorLine(
      'nats_streams',
      'warning',
      `Not up to date on ${behind.map((each) => each.name).join(', ')}.`,
      {
        ...about,
        advice: 'See whether these servers run: another loss may stop the stream.',
      },
    )
  if (config.num_replicas !== replicas)
    return doctorLine(
      'nats_streams',
      'warning',
      `It has ${counted(config.num_replicas, 'replica')}, and WEIR_NATS_REPLICAS is ${replicas}.`,
      {
        ...about,
        advice: 'Restart the API with the same setting as all others: it changes the streams.',
      },
    )
  if (config.max_bytes > 0 && state.bytes > config.max_bytes * shareOfConcern)
    return doctorLine(
      'nats_streams',
      'warning',
      `It holds ${roughSizeText(state.bytes)} of ${roughSizeText(config.max_bytes)}.`,
      {
        ...about,
        advice: 'Find what does not take its messages (weir status), or raise WEIR_STORAGE_MAX.',
      },
    )
  return undefined
}

async function clockLine({ nats, partitions }: NatsParts): Promise<DoctorLine[]> {
  const [stream] = streamsOf(partitions.all)
  const beforeMs = now()
  const position =
    stream === undefined ? undefined : await nats.consumerInfo(stream, inputConsumer).catch(() => undefined)
  const afterMs = now()
  const about = 'nats-server'
  if (position?.serverMs === undefined)
    return [
      doctorLine(
        'clocks',
        'not_checked',
        `nats-server ${nats.storing.version} did not say its time; from 2.10 on it does.`,
        { about },
      ),
    ]
  const offMs = Math.max(position.serverMs - afterMs, 0) || Math.min(position.serverMs - beforeMs, 0)
  if (Math.abs(offMs) <= clockDoubtMs)
    return [
      doctorLine('clocks', 'good', `Its clock agrees with that of the API within ${clockDoubtMs / 1000} s.`, {
        about,
      }),
    ]
  const sentence = `Its clock is ${Math.round(Math.abs(offMs) / 1000)} s ${offMs > 0 ? 'ahead of' : 'behind'} that of the API.`
  return [
    doctorLine('clocks', Math.abs(offMs) >= clockBadMs ? 'bad' : 'warning', sentence, {
      about,
      advice: clockAdvice,
    }),
  ]
}
