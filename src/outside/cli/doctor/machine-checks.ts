/** What only the machine of the command shows: settings, the data directory, its disk, and the files of nats-server. */
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { readServerRecord } from '../../../delivery/nats-server/files.js'
import { natsServerMissing } from '../../../delivery/nats-server/find-nats-server.mjs'
import { processStart } from '../../../delivery/nats-server/process-start.mjs'
import { monotonicMs, randomToken } from '../../../ground/core/clock.js'
import { messageOf } from '../../../ground/core/errors.js'
import { openFilesOf } from '../../../ground/core/telemetry/open-files.js'
import { roughSizeText } from '../../../ground/core/text/plural.js'
import { describeChanged, localNatsServer, type Settings } from '../../../management/process/settings.js'
import { type DoctorLine, doctorLine } from '../../../words/shape/doctor.js'

/** Acknowledged work is synced to the disk, so a slow one slows everything. */
const syncSlowMs = 20
const syncBadMs = 200
const syncTries = 5
const syncBytes = 4 * 1024

const gibibyte = 1024 ** 3
const shareLow = 0.1
const filesFew = 4_096

/** A disk that other programs of this machine fill, too. */
const usesDisk = ({ nats, clickhouse }: Settings): boolean =>
  nats.servers === undefined || clickhouse.url === undefined

export function settingsLines(settings: Settings, warnings: readonly string[]): DoctorLine[] {
  const changed = Object.keys(describeChanged(settings)).length
  return [
    ...warnings.map((warning) =>
      doctorLine('settings', 'warning', warning, { advice: 'Correct the name, or remove it.' }),
    ),
    doctorLine(
      'settings',
      'good',
      `All values that this command is given can be read. Values that differ from the defaults: ${changed}.`,
    ),
  ]
}

export function machineLines(settings: Settings): DoctorLine[] {
  const { dir } = settings.data
  const directory = directoryLines(settings)
  if (directory.some(({ state }) => state === 'bad'))
    return [
      ...directory,
      doctorLine('disk_space', 'not_checked', 'The data directory can not be used.', { about: dir }),
      doctorLine('disk_sync', 'not_checked', 'The data directory can not be used.', { about: dir }),
      ...natsServerLines(settings),
    ]
  return [...directory, ...spaceLines(settings), ...syncLines(settings), ...natsServerLines(settings)]
}

function directoryLines({ data }: Settings): DoctorLine[] {
  const about = { about: data.dir }
  try {
    const { mode, uid } = statSync(data.dir)
    accessSync(data.dir, constants.R_OK | constants.W_OK | constants.X_OK)
    const others = (mode & 0o077) !== 0
    const own = process.getuid?.()
    const found = [
      ...(others
        ? [
            doctorLine(
              'data_directory',
              'warning',
              `Its mode is ${(mode & 0o777).toString(8)}: other users of this machine may look into it.`,
              {
                ...about,
                advice: `chmod 700 ${data.dir}`,
              },
            ),
          ]
        : []),
      ...(own !== undefined && own !== uid && own !== 0
        ? [
            doctorLine(
              'data_directory',
              'warning',
              'It belongs to another user than the one of this command.',
              about,
            ),
          ]
        : []),
    ]
    return found.length > 0
      ? found
      : [doctorLine('data_directory', 'good', 'It can be read and written, by its owner alone.', about)]
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return [
      doctorLine(
        'data_directory',
        'bad',
        isMissing ? 'There is no such directory.' : `It can't be used: ${messageOf(error)}.`,
        {
          ...about,
          advice:
            'Run the command as the user of the service, with its settings: WEIR_DATA_DIR, or --config FILE.',
        },
      ),
    ]
  }
}

function spaceLines(settings: Settings): DoctorLine[] {
  const { dir } = settings.data
  const { bavail, blocks, bsize, ffree, files } = statfsSync(dir)
  const [free, total] = [bavail * bsize, blocks * bsize]
  const about = { about: dir }
  const advice = 'Make room, or lower WEIR_STORAGE_MAX and WEIR_DECISION_LOG_MAX.'
  const sentence = `${roughSizeText(free)} of ${roughSizeText(total)} are free.`
  if (free < gibibyte && usesDisk(settings))
    return [doctorLine('disk_space', 'bad', sentence, { ...about, advice })]
  if (files > 0 && ffree < files / 100)
    return [
      doctorLine(
        'disk_space',
        'bad',
        `${ffree} of ${files} inodes are free: no more files can be made soon.`,
        { ...about, advice: 'Delete small files, or make a file system with more inodes.' },
      ),
    ]
  const { storageMaxBytes } = settings.nats
  if (settings.nats.servers === undefined && free < storageMaxBytes)
    return [
      doctorLine(
        'disk_space',
        'warning',
        `${sentence} WEIR_STORAGE_MAX lets each large stream take ${roughSizeText(storageMaxBytes)}.`,
        { ...about, advice },
      ),
    ]
  return [
    doctorLine(
      'disk_space',
      free / total < shareLow ? 'warning' : 'good',
      sentence,
      free / total < shareLow ? { ...about, advice } : about,
    ),
  ]
}

function syncLines(settings: Settings): DoctorLine[] {
  const about = { about: settings.data.dir }
  if (!usesDisk(settings))
    return [
      doctorLine(
        'disk_sync',
        'not_checked',
        'NATS and ClickHouse are elsewhere: nothing that is acknowledged lies on this disk.',
        about,
      ),
    ]
  const tookMs = syncedMs(settings.data.dir)
  const sentence = `A block of ${syncBytes / 1024} KiB is synced in ${tookMs < 10 ? tookMs.toFixed(1) : Math.round(tookMs)} ms (the median of ${syncTries}).`
  if (tookMs <= syncSlowMs) return [doctorLine('disk_sync', 'good', sentence, about)]
  return [
    doctorLine('disk_sync', tookMs > syncBadMs ? 'bad' : 'warning', sentence, {
      ...about,
      advice:
        'Each acknowledged change waits for it: put the data directory on a local SSD, or find what else writes to this disk.',
    }),
  ]
}

function syncedMs(dir: string): number {
  const path = join(dir, `doctor.${randomToken(6)}`)
  const file = openSync(path, 'wx', 0o600)
  try {
    const times = Array.from({ length: syncTries }, () => {
      const beganMs = monotonicMs()
      writeSync(file, Buffer.alloc(syncBytes))
      fsyncSync(file)
      return monotonicMs() - beganMs
    })
    return times.sort((one, other) => one - other)[Math.floor(syncTries / 2)]!
  } finally {
    closeSync(file)
    rmSync(path)
  }
}

function natsServerLines({ nats, data }: Settings): DoctorLine[] {
  const about = { about: 'nats-server' }
  if (nats.servers !== undefined) return []
  if (localNatsServer() === undefined)
    return [doctorLine('nats', 'bad', natsServerMissing, { ...about, advice: 'See install.md.' })]
  const record = readServerRecord(join(data.dir, 'nats'))
  if (record === undefined || processStart(record.pid) !== record.start)
    return [doctorLine('open_files', 'not_checked', 'The local nats-server does not run.', about)]
  const { max, open } = openFilesOf(record.pid)
  if (max === null)
    return [
      doctorLine('open_files', 'not_checked', 'The system does not say how many files it may open.', about),
    ]
  const advice = 'Raise the limit: LimitNOFILE of the systemd unit, "ulimits" of a container, or ulimit -n.'
  const sentence = `It may open ${max} files${open === null ? '' : `, and has ${open} open`}.`
  if (open !== null && open > max * 0.8)
    return [doctorLine('open_files', 'bad', sentence, { ...about, advice })]
  return [
    doctorLine(
      'open_files',
      max < filesFew ? 'warning' : 'good',
      sentence,
      max < filesFew ? { ...about, advice } : about,
    ),
  ]
}
