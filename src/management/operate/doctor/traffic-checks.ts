/** Has a record come lately, do the pipelines keep up, and how old is what says where clients are? */
import type { GeoDatabases } from '../../../delivery/record/geo.js'
import type { PartitionSet } from '../../../delivery/wire/partitions.js'
import { isoSeconds, now } from '../../../ground/core/clock.js'
import type { Nats } from '../../../ground/nats/nats.js'
import { type DoctorLine, doctorLine } from '../../../words/shape/doctor.js'
import { counted } from '../destination-attention.js'
import type { Lag, RecordsLag } from '../records-lag.js'

export interface TrafficParts {
  readonly nats: Pick<Nats, 'streamInfo'>
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly lag: Pick<RecordsLag, 'now'>
}

/** A way in that is silent for so long is probably broken. */
const silentMs = 60 * 60_000
/** Records wait for less in the ordinary course. */
const lagMs = 30_000

export async function trafficLines({ nats, partitions, lag }: TrafficParts): Promise<DoctorLine[]> {
  const infos = await Promise.all(partitions.all.map(({ recordsStream }) => nats.streamInfo(recordsStream)))
  const times = infos.flatMap((info) =>
    info === undefined || info.state.last_seq === 0 ? [] : [Date.parse(info.state.last_ts)],
  )
  return [lastRecordLine(times, now()), lagLine(await lag.now(), now())]
}

export function lastRecordLine(times: readonly number[], nowMs: number): DoctorLine {
  const advice =
    'Send a record by hand (weir publish, ingress.md): if that arrives, look at the proxy or the shipper of its log.'
  if (times.length === 0) return doctorLine('records', 'warning', 'No record has ever come.', { advice })
  const lastMs = Math.max(...times)
  const sentence = `The last record came at ${isoSeconds(lastMs)}.`
  return nowMs - lastMs > silentMs
    ? doctorLine('records', 'warning', sentence, { advice })
    : doctorLine('records', 'good', sentence)
}

export function lagLine({ messages, oldestAtMs }: Lag, nowMs: number): DoctorLine {
  const about = 'pipelines'
  if (oldestAtMs === undefined || nowMs - oldestAtMs < lagMs)
    return doctorLine('records', 'good', 'All records are processed, but those of the last seconds.', {
      about,
    })
  const sentence = `${counted(messages, 'message')} of records wait, the oldest since ${isoSeconds(oldestAtMs)}.`
  return doctorLine('records', 'bad', sentence, {
    about,
    advice: 'See whether a pipeline runs and is ready; if all are busy, start more (scale.md).',
  })
}

// --- GeoIP databases: addresses change owners, so an old one is wrong more and more often ---

export interface GeoipParts {
  readonly geo: Pick<GeoDatabases, 'files'>
}

const dayMs = 24 * 3_600_000
/** Makers publish each month or more often. The ones that come with Weir are as old as the release. */
const oldMs = 365 * dayMs

export async function geoipLines({ geo }: GeoipParts): Promise<DoctorLine[]> {
  if (geo.files.length === 0)
    return [doctorLine('geoip', 'not_checked', 'There is no GeoIP database (WEIR_GEOIP_DB is empty).')]
  return geo.files.map(({ path, type, builtAtMs }) => fileLine(path, type, builtAtMs, now()))
}

export function fileLine(path: string, type: string, builtAtMs: number, nowMs: number): DoctorLine {
  const days = Math.floor((nowMs - builtAtMs) / dayMs)
  const sentence = `${type} of ${isoSeconds(builtAtMs)}, ${days} days old.`
  return nowMs - builtAtMs > oldMs
    ? doctorLine('geoip', 'warning', sentence, {
        about: path,
        advice: 'Download a newer file, name it in WEIR_GEOIP_DB, and restart.',
      })
    : doctorLine('geoip', 'good', sentence, { about: path })
}
