/**
 * `weir doctor --bundle`: a file for those who help. What is in it is listed here, and nothing else gets in; what this machine
 * or the service knows as a secret is searched for in all of it, and taken out.
 */
import { closeSync, openSync, readSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { logPath } from '../../../delivery/nats-server/server-config.js'
import { type Hide, hiding } from '../../../delivery/outgoing/hidden-secrets.js'
import { now } from '../../../ground/core/clock.js'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { tarEnd, tarEntry } from '../../../ground/core/files/tar.js'
import { versionAndBuild } from '../../../ground/core/package.js'
import { roughSizeText } from '../../../ground/core/text/plural.js'
import { knownSecrets } from '../../../management/process/known-secrets.js'
import { readRuntime, sendAdminCommand } from '../../../management/process/running-service.js'
import { describeSettings, type Settings } from '../../../management/process/settings.js'
import type { DoctorReport } from '../../../words/shape/doctor.js'
import { type LoadSettings, reportText } from './doctor-report.js'

/** Each file; the rest is cut off, and said to be. */
const fileCharsMax = 4 * 1024 ** 2
/** Of a log, its end. */
const logBytesMax = 256 * 1024
/** More files than the service gives. */
const filesMax = 50

type Files = Readonly<Record<string, string>>

/** Resolves with a sentence about what was written. Throws a `StartFault` if nothing was. */
export async function writeBundle(path: string, report: DoctorReport, load: LoadSettings): Promise<string> {
  const settings = settingsOrNothing(load)
  const hide = hidingAll(settings)
  const files = { ...own(report, settings), ...(settings && (await ofService(settings))) }
  const entries = Object.entries(files).slice(0, filesMax)
  const packed = entries.map(([name, text]) =>
    tarEntry({ name, bytes: Buffer.from(hide(bounded(text))) }, now()),
  )
  const bytes = gzipSync(Buffer.concat([...packed, tarEnd()]))
  try {
    writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new StartFault(`The bundle ${path} was not written: ${messageOf(error)}.`)
  }
  return `${path} has ${entries.length} files (${roughSizeText(bytes.length)}). Look through it before you send it: names of hosts, accounts and destinations are in it.`
}

function settingsOrNothing(load: LoadSettings): Settings | undefined {
  try {
    return load().settings
  } catch {
    // The report says what is wrong with them.
    return undefined
  }
}

function own(report: DoctorReport, settings: Settings | undefined): Files {
  return {
    'README.txt': readme,
    'doctor.json': json(report),
    'doctor.txt': `${reportText(report)}\n`,
    'versions.json': json({
      weir: versionAndBuild(),
      node: process.versions,
      platform: process.platform,
      arch: process.arch,
    }),
    ...(settings && {
      'settings.json': json(describeSettings(settings)),
      'nats-server.log': endOf(logPath(join(settings.data.dir, 'nats'))),
      'nats-server.stderr': endOf(join(settings.data.dir, 'nats', 'server.stderr')),
    }),
  }
}

const readme = `What "weir doctor --bundle" found. Secrets are replaced by "…".

doctor.txt, doctor.json   what is wrong, and what was found to be right
versions.json             versions of this command, of Node and of the system
settings.json             settings of this command, as it would start Weir
service-settings.json     settings of the API's process
processes.json            what each process says of itself
metrics.txt               metrics of all processes of the service
streams.json              streams of NATS, and how far their consumers are
accounts.json             overview and findings of each account
nats-server.*             the end of the log of the local nats-server

Weir itself logs to its standard error: add its lines if they are of interest
(journalctl -u weir, docker logs weir).
`

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

async function ofService({ data }: Settings): Promise<Files> {
  const running = readRuntime(data.dir)
  if (running === undefined) return { 'service.txt': 'No service runs on this data directory.\n' }
  try {
    const answer = await sendAdminCommand(running.adminUrl, running.adminToken, { command: 'doctor bundle' })
    return JSON.parse(answer) as Files
  } catch (error) {
    return { 'service.txt': `The service did not answer: ${messageOf(error)}\n` }
  }
}

const bounded = (text: string): string =>
  text.length <= fileCharsMax
    ? text
    : `${text.slice(0, fileCharsMax)}\n… ${text.length - fileCharsMax} more characters were cut off.\n`

/** The last lines of a log. */
function endOf(path: string): string {
  try {
    const { size } = statSync(path)
    const bytes = Buffer.alloc(Math.min(size, logBytesMax))
    const file = openSync(path, 'r')
    try {
      return bytes.toString(
        'utf8',
        0,
        readSync(file, bytes, 0, bytes.length, Math.max(0, size - bytes.length)),
      )
    } finally {
      closeSync(file)
    }
  } catch (error) {
    return `It was not read: ${messageOf(error)}\n`
  }
}

const unmistakable: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g, '…'],
  // The token of an API key.
  [/\bweir_(?=[\w-]*[A-Z])[\w-]{43}/g, '…'],
  [/:\/\/[^@/\s"']+@/g, '://…@'],
  [/\b(bearer|basic)\s+[\w.~+/=-]+/gi, '$1 …'],
]

function hidingAll(settings: Settings | undefined): Hide {
  const hide = hiding(settings === undefined ? [] : knownSecrets(settings))
  return (text) => unmistakable.reduce((rest, [form, mask]) => rest.replaceAll(form, mask), hide(text))
}
