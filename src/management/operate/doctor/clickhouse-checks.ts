/** ClickHouse, a server or embedded: does it answer and store, and how much room is left? */
import { monotonicMs, now } from '../../../ground/core/clock.js'
import { messageOf } from '../../../ground/core/errors.js'
import { roughSizeText } from '../../../ground/core/text/plural.js'
import { type DoctorLine, doctorLine } from '../../../words/shape/doctor.js'
import type { Clickhouse } from '../../store/clickhouse/clickhouse.js'
import { WriteProbe } from '../../store/clickhouse/write-probe.js'
import { clockAdvice } from './process-checks.js'

export interface ClickhouseParts {
  readonly clickhouse: Pick<Clickhouse, 'rows' | 'insert' | 'hasStored' | 'isEmbedded'>
  /** Why nothing may be written now; undefined if writes are allowed. */
  readonly refusal: () => string | undefined
}

/** ClickHouse gets so long for each answer. */
const answerWithinMs = 5_000
const slowMs = 1_000
const clockDoubtMs = 2_000
const clockBadMs = 60_000
/** Of a disk; merges need room for a copy of what they merge. */
const shareLow = 0.15
const shareBad = 0.05

interface Server {
  readonly version: string
  readonly atMs: number
}

export async function clickhouseLines(parts: ClickhouseParts): Promise<DoctorLine[]> {
  const beforeMs = now()
  const beganMs = monotonicMs()
  let server: Server | undefined
  try {
    const sql = 'SELECT version() AS version, toUnixTimestamp64Milli(now64(3)) AS atMs'
    server = (await parts.clickhouse.rows<Server>(sql, {}, answerWithinMs))[0]
  } catch (error) {
    return [
      doctorLine('clickhouse', 'bad', `ClickHouse does not answer: ${messageOf(error)}`, {
        advice:
          'Traffic goes on without it. See whether it runs and can be reached at the address of CLICKHOUSE_URL, and its log.',
      }),
    ]
  }
  if (server === undefined) return [doctorLine('clickhouse', 'bad', 'ClickHouse does not say its version.')]
  const tookMs = Math.round(monotonicMs() - beganMs)
  return [
    serverLine(parts, server, tookMs),
    ...(parts.clickhouse.isEmbedded ? [] : [clockLine(Number(server.atMs), beforeMs, now())]),
    ...(await writeLines(parts)),
    ...(await diskLines(parts)),
  ]
}

function serverLine({ clickhouse }: ClickhouseParts, { version }: Server, tookMs: number): DoctorLine {
  const name = clickhouse.isEmbedded ? `The embedded ClickHouse ${version}` : `ClickHouse ${version}`
  return tookMs > slowMs
    ? doctorLine('clickhouse', 'warning', `${name} took ${tookMs} ms for a question without data.`, {
        advice: 'If it is often so, the machine is overloaded, or the network between.',
      })
    : doctorLine('clickhouse', 'good', `${name} answers in ${tookMs} ms.`)
}

function clockLine(atMs: number, beforeMs: number, afterMs: number): DoctorLine {
  const about = 'ClickHouse'
  const offMs = Math.max(atMs - afterMs, 0) || Math.min(atMs - beforeMs, 0)
  if (Math.abs(offMs) <= clockDoubtMs)
    return doctorLine(
      'clocks',
      'good',
      `Its clock agrees with that of the API within ${clockDoubtMs / 1000} s.`,
      { about },
    )
  const sentence = `Its clock is ${Math.round(Math.abs(offMs) / 1000)} s ${offMs > 0 ? 'ahead of' : 'behind'} that of the API.`
  return doctorLine('clocks', Math.abs(offMs) >= clockBadMs ? 'bad' : 'warning', sentence, {
    about,
    advice: clockAdvice,
  })
}

async function writeLines({ clickhouse, refusal }: ClickhouseParts): Promise<DoctorLine[]> {
  const refused = refusal()
  if (refused !== undefined)
    return [
      doctorLine('clickhouse_writes', 'bad', refused, {
        advice: 'No change of the configuration is taken until that is mended. operating.md has the case.',
      }),
    ]
  const fault = await new WriteProbe(clickhouse).fault()
  if (fault === undefined) return [doctorLine('clickhouse_writes', 'good', 'It stores rows.')]
  const sentence = [fault.reason, fault.text].filter(Boolean).join(' ')
  const advice = fault.advice ?? 'Look at its disk, at the rights of its user, and at its log.'
  return [doctorLine('clickhouse_writes', 'bad', sentence, { advice })]
}

interface Disk {
  readonly name: string
  readonly free: number
  readonly total: number
}

async function diskLines({ clickhouse }: ClickhouseParts): Promise<DoctorLine[]> {
  let disks: readonly Disk[]
  try {
    const sql =
      'SELECT name, toFloat64(free_space) AS free, toFloat64(total_space) AS total FROM system.disks'
    disks = await clickhouse.rows<Disk>(sql, {}, answerWithinMs)
  } catch (error) {
    return [
      doctorLine(
        'clickhouse_disk',
        'not_checked',
        `It does not say how much room is left: ${messageOf(error)}`,
        {
          advice: 'GRANT SELECT ON system.disks lets the user of Weir see it.',
        },
      ),
    ]
  }
  // A disk without a size, such as S3, has no end.
  return disks.map(({ name, free, total }) => {
    const about = `disk ${name}`
    if (total <= 0 || free > total)
      return doctorLine('clickhouse_disk', 'good', 'It has no limit.', { about })
    const share = free / total
    const sentence = `${roughSizeText(free)} of ${roughSizeText(total)} are free.`
    if (share >= shareLow) return doctorLine('clickhouse_disk', 'good', sentence, { about })
    return doctorLine('clickhouse_disk', share < shareBad ? 'bad' : 'warning', sentence, {
      about,
      advice: 'Make room, or lower WEIR_DECISION_LOG_MAX: the decision log is most of it.',
    })
  })
}
