/**
 * What a start needs besides this machine, tried from here: NATS, ClickHouse, and the GeoIP files. Only if no service answers,
 * which would know more.
 */
import { join } from 'node:path'
import { openGeo } from '../delivery/record/geo.js'
import { messageOf } from '../ground/core/errors.js'
import { openNats } from '../ground/nats/nats.js'
import type { Settings } from '../management/process/settings.js'
import { natsFiles } from '../management/process/tls-files.js'
import { openClickhouse } from '../management/store/clickhouse/clickhouse.js'
import { embeddedFault } from '../management/store/clickhouse/embedded.js'
import { type DoctorLine, doctorLine } from '../words/shape/doctor.js'

const answerWithinMs = 5_000

export async function reachLines(settings: Settings): Promise<DoctorLine[]> {
  const found = [natsLine(settings), clickhouseLine(settings), geoLine(settings)]
  return (await Promise.all(found)).filter((line) => line !== undefined)
}

/** A nats-server of the service's own is looked for with the other things of this machine. */
async function natsLine({ nats }: Settings): Promise<DoctorLine | undefined> {
  const { servers, replicas, inboxPrefix } = nats
  if (servers === undefined) return undefined
  try {
    const files = natsFiles(nats)
    const opened = await openNats({
      servers,
      files,
      replicas,
      inboxPrefix,
      name: 'weir doctor',
      isUpNow: true,
    })
    const { version } = opened.storing
    await opened.close()
    return doctorLine('nats', 'good', `nats-server ${version} can be reached from here, and takes the login.`)
  } catch (error) {
    return doctorLine('nats', 'bad', `NATS can't be used from here: ${messageOf(error)}.`, {
      advice: 'See whether it runs, and whether NATS_URL has the right address and login.',
    })
  }
}

async function clickhouseLine({ clickhouse, data }: Settings): Promise<DoctorLine | undefined> {
  if (clickhouse.url === undefined) {
    const fault = embeddedFault()
    return fault === undefined
      ? undefined
      : doctorLine('clickhouse', 'bad', fault, { advice: 'See install.md.' })
  }
  try {
    const opened = await openClickhouse({ ...clickhouse, directory: join(data.dir, 'clickhouse') })
    try {
      const [found] = await opened.rows<{ version: string }>(
        'SELECT version() AS version',
        {},
        answerWithinMs,
      )
      return doctorLine('clickhouse', 'good', `ClickHouse ${found?.version} can be reached from here.`)
    } finally {
      await opened.close()
    }
  } catch (error) {
    return doctorLine('clickhouse', 'bad', `ClickHouse can't be used from here: ${messageOf(error)}`, {
      advice: 'See whether it runs, and whether CLICKHOUSE_URL has the right address and password.',
    })
  }
}

async function geoLine({ geo }: Settings): Promise<DoctorLine> {
  try {
    await openGeo(geo.databases)
    return doctorLine('geoip', 'good', 'The databases can be read.')
  } catch (error) {
    return doctorLine('geoip', 'bad', messageOf(error), {
      advice: 'Correct WEIR_GEOIP_DB, or unset it to use the databases that come with Weir.',
    })
  }
}
