/**
 * Start here for `weir doctor`, as far as a process of the API sees the deployment: each check is a function that returns
 * lines. One that fails or hangs costs the others nothing: its line says that it was not checked, and why.
 */
import { isoMillis, now, within } from '../../../ground/core/clock.js'
import { messageOf } from '../../../ground/core/errors.js'
import { grouped } from '../../../ground/core/maps.js'
import { version } from '../../../ground/core/package.js'
import {
  bounded,
  type DoctorCheck,
  type DoctorLine,
  type DoctorReport,
  doctorLine,
  inOrder,
  worstOf,
} from '../../../words/shape/doctor.js'
import { type AccountParts, accountLines } from './account-checks.js'
import { type ClickhouseParts, clickhouseLines } from './clickhouse-checks.js'
import { awsIdentityLines, type DestinationParts, destinationLines } from './destination-checks.js'
import { type NatsParts, natsLines } from './nats-checks.js'
import { type ProcessParts, processLines } from './process-checks.js'
import { type GeoipParts, geoipLines, type TrafficParts, trafficLines } from './traffic-checks.js'

export type DoctorParts = ProcessParts &
  NatsParts &
  ClickhouseParts &
  DestinationParts &
  TrafficParts &
  AccountParts &
  GeoipParts

/** Longer than each part of a check waits for what it asks. */
const checkWithinMs = 30_000

/** Checks that are made together, by the first of their names. */
const checks: readonly (readonly [DoctorCheck, (parts: DoctorParts) => Promise<DoctorLine[]>])[] = [
  ['processes', processLines],
  ['nats', natsLines],
  ['clickhouse', clickhouseLines],
  ['aws_identity', awsIdentityLines],
  ['destinations', destinationLines],
  ['records', trafficLines],
  ['findings', accountLines],
  ['geoip', geoipLines],
]

export async function examine(parts: DoctorParts): Promise<DoctorReport> {
  const found = await Promise.all(checks.map(([check, look]) => linesOf(check, () => look(parts))))
  const lines = inOrder(found.flat())
  return { state: worstOf(lines), as_of: isoMillis(now()), version, lines }
}

async function linesOf(check: DoctorCheck, look: () => Promise<DoctorLine[]>): Promise<DoctorLine[]> {
  try {
    const lines = await within(checkWithinMs, look(), `it took longer than ${checkWithinMs / 1000} s`)
    return [...grouped(lines, (line) => line.check)].flatMap(([name, of]) => bounded(name, of))
  } catch (error) {
    return [doctorLine(check, 'not_checked', `It was not checked: ${messageOf(error)}`)]
  }
}
