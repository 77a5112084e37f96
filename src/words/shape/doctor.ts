/** What `weir doctor` and `GET /doctor` say: a line for each thing that was looked at, or could not be. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'

/** The checks, in the order in which they are shown. `docs/doctor.md` has a section for each. */
export const doctorChecks = [
  'service',
  'settings',
  'data_directory',
  'disk_space',
  'disk_sync',
  'processes',
  'versions',
  'clocks',
  'open_files',
  'nats',
  'nats_rights',
  'nats_storage',
  'nats_streams',
  'clickhouse',
  'clickhouse_writes',
  'clickhouse_disk',
  'aws_identity',
  'destinations',
  'dead_letters',
  'decide_port',
  'trusted_proxies',
  'records',
  'unserved_names',
  'findings',
  'certificates',
  'ip_lists',
  'geoip',
] as const

export type DoctorCheck = (typeof doctorChecks)[number]

/** What only the machine of the service shows, to `weir doctor` on it. */
export const machineChecks = ['settings', 'data_directory', 'disk_space', 'disk_sync'] as const

/** From the best; `not_checked` stands apart: nothing is known of it. */
const doctorStates = ['good', 'warning', 'bad', 'not_checked'] as const

export type DoctorState = (typeof doctorStates)[number]

const lineSchema = objectOf(
  {
    check: oneOf(doctorChecks),
    state: oneOf(
      doctorStates,
      'bad: something does not work, or is lost. warning: someone should look. not_checked: it was not looked at; the sentence says why.',
    ),
    about: orNull(Type.String(), {
      description: 'Which one: a process, a stream, a file, or the id of a resource.',
    }),
    sentence: Type.String({ description: 'What was found, for a person. Times in it are in UTC.' }),
    advice: orNull(Type.String(), { description: 'What to do; null if there is nothing to do.' }),
    page: Type.String({ description: 'The section of the documents, below `docs`.' }),
  },
  { title: 'DoctorLine', description: 'One thing that was looked at.' },
)

export type DoctorLine = Static<typeof lineSchema>

export const doctorReportSchema = objectOf(
  {
    state: oneOf(['good', 'warning', 'bad'], 'The worst of the lines; what was not checked does not count.'),
    as_of: Type.String({ format: 'date-time' }),
    version: Type.String({ description: 'The version of the program that looked.' }),
    lines: Type.Array(lineSchema),
  },
  {
    title: 'DoctorReport',
    description: 'What is wrong with the deployment, and what was found to be right.',
    examples: [
      {
        state: 'warning',
        as_of: '2026-11-20T10:04:00.000Z',
        version: '0.1.0',
        lines: [
          {
            check: 'clocks',
            state: 'warning',
            about: 'deliver on two.example.com (4711)',
            sentence: 'Its clock is 12 s behind.',
            advice: 'Let the machine follow a time server (chrony or systemd-timesyncd).',
            page: 'doctor.md#clocks',
          },
        ],
      },
    ],
  },
)

export type DoctorReport = Static<typeof doctorReportSchema>

interface LineDetails {
  readonly about?: string | undefined
  readonly advice?: string | undefined
}

export const doctorLine = (
  check: DoctorCheck,
  state: DoctorState,
  sentence: string,
  { about, advice }: LineDetails = {},
): DoctorLine => ({
  check,
  state,
  about: about ?? null,
  sentence,
  advice: advice ?? null,
  page: `doctor.md#${check.replaceAll('_', '-')}`,
})

/** In the order of the checks, and of each the worst first. */
export const inOrder = (lines: readonly DoctorLine[]): DoctorLine[] =>
  lines.toSorted(
    (one, other) =>
      doctorChecks.indexOf(one.check) - doctorChecks.indexOf(other.check) ||
      badness(other.state) - badness(one.state),
  )

/** What was not looked at says nothing about how things are. */
export function worstOf(lines: readonly DoctorLine[]): DoctorReport['state'] {
  const states = new Set(lines.map(({ state }) => state))
  if (states.has('bad')) return 'bad'
  return states.has('warning') ? 'warning' : 'good'
}

const badness = (state: DoctorState): number => ['good', 'not_checked', 'warning', 'bad'].indexOf(state)

/** More of one check say nothing new. */
const listedMax = 20

/** The worst ones, and how many more there are. */
export function bounded(check: DoctorCheck, lines: readonly DoctorLine[]): DoctorLine[] {
  if (lines.length <= listedMax) return [...lines]
  const sorted = inOrder(lines)
  const left = sorted.slice(listedMax)
  const more = doctorLine(check, worstOf(left), `${left.length} more are like the last one, or better.`)
  return [...sorted.slice(0, listedMax), more]
}
