/** All processes of the deployment: which roles run, which versions they are, their clocks and their files. */
import { hostname } from 'node:os'
import { processesSubject } from '../../../delivery/wire/names.js'
import { type ProcessReport, reportsIn } from '../../../delivery/wire/process-report.js'
import { now } from '../../../ground/core/clock.js'
import { grouped } from '../../../ground/core/maps.js'
import type { Nats } from '../../../ground/nats/nats.js'
import { type DoctorLine, doctorLine } from '../../../words/shape/doctor.js'
import { counted } from '../destination-attention.js'
import { decidePortLines, trustedProxyLines } from './decide-checks.js'

export interface ProcessParts {
  readonly nats: Pick<Nats, 'gather'>
}

const answersWithinMs = 1_500
const roles = ['api', 'pipeline', 'decide', 'deliver'] as const

/** A difference that answers on their way can't explain. */
const clockDoubtMs = 2_000
/** From here on, times of records and events mislead. */
const clockBadMs = 60_000

/** nats-server, ClickHouse and clients take a file each; with fewer, a busy process runs out. */
const filesFew = 4_096
const filesShareOfConcern = 0.8

export async function processLines({ nats }: ProcessParts): Promise<DoctorLine[]> {
  const askedAtMs = now()
  const reports = await processReports({ nats })
  const asked = { fromMs: askedAtMs, untilMs: now() }
  return [
    ...roleLines(reports),
    ...versionLines(reports),
    ...clockLines(reports, asked),
    ...fileLines(reports),
    ...rightsLines(reports),
    ...(await decidePortLines(reports, hostname())),
    ...trustedProxyLines(reports),
  ]
}

/** What each process says of itself. */
export const processReports = async ({ nats }: ProcessParts): Promise<ProcessReport[]> =>
  reportsIn((await nats.gather(processesSubject, '', answersWithinMs)) ?? [])

const nameOf = ({ role, host, pid }: ProcessReport): string => `${role} on ${host} (${pid})`

export function roleLines(reports: readonly ProcessReport[]): DoctorLine[] {
  const missing = roles.filter((role) => !reports.some((report) => report.role === role))
  const failing = reports.filter(({ failing }) => Object.keys(failing).length > 0)
  const found = [
    ...missing.map((role) =>
      doctorLine('processes', 'bad', `No process of the role ${role} answers.`, {
        about: role,
        advice:
          'Start one. If one runs, it is of an earlier version, or its user of NATS may not listen to weir.status.processes: compare its rights with those of "weir nats-config".',
      }),
    ),
    ...failing.map((report) => {
      const reasons = Object.entries(report.failing).map(([part, reason]) => `${part}: ${reason}`)
      return doctorLine('processes', 'bad', `It is not ready. ${reasons.join(' ')}`, {
        about: nameOf(report),
        advice:
          'Each reason names the part that does not work: begin with the first one that has a line of its own.',
      })
    }),
  ]
  if (found.length > 0) return found
  return [
    doctorLine(
      'processes',
      'good',
      `${counted(reports.length, 'process', 'processes')} of all roles answer, and are ready.`,
    ),
  ]
}

export function versionLines(reports: readonly ProcessReport[]): DoctorLine[] {
  const byBuild = grouped(reports, ({ build }) => build)
  const [only] = byBuild.keys()
  if (only === undefined)
    return [doctorLine('versions', 'not_checked', 'No process answers, so no version is known.')]
  if (byBuild.size === 1) return [doctorLine('versions', 'good', `All processes run ${only}.`)]
  const texts = [...byBuild].map(([build, of]) => `${build}: ${of.map(nameOf).join(', ')}`)
  return [
    doctorLine('versions', 'warning', `Processes run ${byBuild.size} versions. ${texts.join('; ')}.`, {
      advice: 'Finish the upgrade: the API first, then the others.',
    }),
  ]
}

interface Asked {
  readonly fromMs: number
  readonly untilMs: number
}

/** A clock is wrong for sure only if it shows a time outside of those between which the process answered. */
export function clockLines(reports: readonly ProcessReport[], { fromMs, untilMs }: Asked): DoctorLine[] {
  const wrong = reports.flatMap((report) => {
    const offMs = Math.max(report.nowMs - untilMs, 0) || Math.min(report.nowMs - fromMs, 0)
    if (Math.abs(offMs) <= clockDoubtMs) return []
    const seconds = Math.round(Math.abs(offMs) / 1000)
    const state = Math.abs(offMs) >= clockBadMs ? 'bad' : 'warning'
    const sentence = `Its clock is at least ${seconds} s ${offMs > 0 ? 'ahead of' : 'behind'} that of the API.`
    return [doctorLine('clocks', state, sentence, { about: nameOf(report), advice: clockAdvice })]
  })
  if (wrong.length > 0) return wrong
  if (reports.length === 0)
    return [doctorLine('clocks', 'not_checked', 'No process answers, so no clock was compared.')]
  const sentence = `The clocks of ${counted(reports.length, 'process', 'processes')} agree within ${clockDoubtMs / 1000} s.`
  return [doctorLine('clocks', 'good', sentence)]
}

export const clockAdvice = 'Let the machine follow a time server (chrony, or systemd-timesyncd).'

export function fileLines(reports: readonly ProcessReport[]): DoctorLine[] {
  const known = reports.filter(({ filesMax }) => filesMax !== null)
  const found = known.flatMap((report) => {
    const { filesMax, filesOpen } = report
    const max = filesMax ?? 0
    const about = nameOf(report)
    if (filesOpen !== null && filesOpen > max * filesShareOfConcern)
      return [
        doctorLine('open_files', 'bad', `It has ${filesOpen} files open, and may open ${max}.`, {
          about,
          advice: filesAdvice,
        }),
      ]
    if (max < filesFew)
      return [
        doctorLine('open_files', 'warning', `It may open only ${max} files.`, { about, advice: filesAdvice }),
      ]
    return []
  })
  if (found.length > 0) return found
  if (known.length === 0)
    return [
      doctorLine(
        'open_files',
        'not_checked',
        'No process knows how many files it may open: only Linux says it.',
      ),
    ]
  const least = Math.min(...known.map(({ filesMax }) => filesMax ?? 0))
  return [
    doctorLine(
      'open_files',
      'good',
      `Each of ${counted(known.length, 'process', 'processes')} may open ${least} files or more.`,
    ),
  ]
}

/** Each process has the rights of its own user of NATS, and knows what it was refused since it started. */
export function rightsLines(reports: readonly ProcessReport[]): DoctorLine[] {
  const known = reports.filter(({ refused }) => refused !== undefined)
  const found = known.flatMap((report) =>
    Object.entries(report.refused ?? {}).map(([what, reason]) =>
      doctorLine('nats_rights', 'bad', `${what}: ${reason}`, {
        about: nameOf(report),
        advice:
          'If its user may not do it, compare the rights of the user with those that "weir nats-config" prints for this version.',
      }),
    ),
  )
  if (found.length > 0) return found
  if (known.length === 0)
    return [doctorLine('nats_rights', 'not_checked', 'No process says what NATS refuses to it.')]
  const sentence = `Nothing that ${counted(known.length, 'process does', 'processes do')} on NATS is refused.`
  return [doctorLine('nats_rights', 'good', sentence)]
}

const filesAdvice =
  'Raise the limit: LimitNOFILE of the systemd unit, "ulimits" of a container, or ulimit -n.'
