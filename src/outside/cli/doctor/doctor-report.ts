/** `weir doctor`: what is wrong, from this machine and from the service, as lines for a person. */
import { isoMillis, now } from '../../../ground/core/clock.js'
import { messageOf } from '../../../ground/core/errors.js'
import { version } from '../../../ground/core/package.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../../ground/core/text/times.js'
import { readRuntime, sendAdminCommand } from '../../../management/process/running-service.js'
import type { Settings } from '../../../management/process/settings.js'
import {
  type DoctorLine,
  type DoctorReport,
  type DoctorState,
  doctorChecks,
  doctorLine,
  inOrder,
  worstOf,
} from '../../../words/shape/doctor.js'
import { machineLines, settingsLines } from './machine-checks.js'

interface Loaded {
  readonly settings: Settings
  readonly warnings: readonly string[]
}

/** Throws a `SettingsError` if a setting can't be read. */
export type LoadSettings = () => Loaded

export interface DoctorSources {
  readonly load: LoadSettings
  /** What a start needs besides this machine, tried from here. */
  readonly reach: (settings: Settings) => Promise<DoctorLine[]>
}

/** Made here, or by the service. */
const madeHere: ReadonlySet<string> = new Set([
  'settings',
  'service',
  'data_directory',
  'disk_space',
  'disk_sync',
])

/** Looks here, and asks the service that runs on the data directory. */
export async function diagnose(sources: DoctorSources): Promise<DoctorReport> {
  const lines = inOrder(await linesOf(sources))
  return { state: worstOf(lines), as_of: isoMillis(now()), version, lines }
}

async function linesOf({ load, reach }: DoctorSources): Promise<DoctorLine[]> {
  let loaded: Loaded
  try {
    loaded = load()
  } catch (error) {
    const advice = 'Correct it: without settings, nothing else can be looked at.'
    const wrong = doctorLine('settings', 'bad', messageOf(error), { advice })
    return [wrong, ...notChecked('The settings can not be read.', ['settings'])]
  }
  const { settings, warnings } = loaded
  const here = [...settingsLines(settings, warnings), ...machineLines(settings)]
  return [...here, ...(await serviceLines(settings, reach))]
}

async function serviceLines(settings: Settings, reach: DoctorSources['reach']): Promise<DoctorLine[]> {
  const { data } = settings
  const running = readRuntime(data.dir)
  const about = { about: data.dir }
  if (running === undefined)
    return [
      doctorLine('service', 'bad', 'No service with an API runs on this data directory.', {
        ...about,
        advice:
          'Start it (npm start, or weir serve): what it prints says why if it ends. If it runs elsewhere, run this command there.',
      }),
      ...otherLines(await reach(settings), 'Only a running service sees it.'),
    ]
  try {
    const answer = await sendAdminCommand(running.adminUrl, running.adminToken, { command: 'doctor' })
    const { lines } = JSON.parse(answer) as DoctorReport
    return [
      doctorLine('service', 'good', `The service answers; its API is at ${running.apiUrl}.`, about),
      ...lines,
    ]
  } catch (error) {
    return [
      doctorLine('service', 'bad', messageOf(error), {
        ...about,
        advice:
          'If it starts, wait until it is ready. Else look at its log, and whether the machine is overloaded.',
      }),
      ...otherLines(await reach(settings), 'The service did not answer.'),
    ]
  }
}

/** Without an answer of the service: what can be tried from here, and what can't. */
const otherLines = (reached: readonly DoctorLine[], reason: string): DoctorLine[] => [
  ...reached,
  ...notChecked(reason, [...madeHere, ...reached.map(({ check }) => check)]),
]

const notChecked = (reason: string, but: readonly string[]): DoctorLine[] =>
  doctorChecks
    .filter((check) => !but.includes(check))
    .map((check) => doctorLine(check, 'not_checked', reason))

/** From the worst: what needs a hand is read first. */
const shownStates: readonly DoctorState[] = ['bad', 'warning', 'not_checked', 'good']

const wordFor: Record<DoctorState, string> = {
  bad: 'bad',
  warning: 'warning',
  not_checked: 'not checked',
  good: 'good',
}

export function reportText({ lines }: Pick<DoctorReport, 'lines'>): string {
  const counts = shownStates.map(
    (state) => `${lines.filter((line) => line.state === state).length} ${wordFor[state]}`,
  )
  const texts = shownStates.flatMap((state) => lines.filter((line) => line.state === state).flatMap(textOf))
  return forTerminal([...texts, `${counts.join(', ')}. docs/doctor.md explains each.`].join('\n'))
}

const indent = ' '.repeat(13)

function textOf({ state, check, about, sentence, advice, page }: DoctorLine): string[] {
  const subject = about === null ? check : `${check}, ${about}`
  return [
    `${wordFor[state].padEnd(11)}  ${subject}: ${sentenceForTerminal(sentence)}`,
    ...(advice === null ? [] : [`${indent}${advice} (docs/${page})`]),
  ]
}
