/** What a plan would do: to policy tests, and to the clients of the past. */

import { decisionInWords } from '../../../ground/core/text/part-in-words.js'
import type { PolicyTestRuns } from '../../../words/shape/policy-test-run.js'
import type { TrialAccess } from '../../../words/shape/trial/access.js'
import { timeSentences } from '../../../words/shape/trial/time-sentences.js'
import type { Trial, TrialExample } from '../../../words/shape/trial.js'
import { type Line, line, type Section } from './report-lines.js'

export interface Effect {
  readonly tests: { readonly files: PolicyTestRuns; readonly kept: PolicyTestRuns } | undefined
  /** Undefined if none was asked for; null if nothing in the plan decides about records. */
  readonly trial: Trial | null | undefined
  readonly gaps: readonly Line[]
}

const listedMax = 20
const failuresMax = 20

export const testsFailed = ({ tests }: Effect): number =>
  tests === undefined ? 0 : tests.files.failed + tests.kept.failed

/** Records whose loss no test expects. */
export const lostUnexpectedly = ({ trial }: Effect): number => trial?.decisions?.access?.lost.unexpected ?? 0

/** Did a trial end without a result? */
export const trialFailed = ({ trial }: Effect): boolean => trial != null && trial.state !== 'done'

/** `nameOf`: what the files call an id. */
export function effectSections(effect: Effect, nameOf: (id: string) => string): Section[] {
  const { tests, trial } = effect
  return [
    ...(tests === undefined ? [] : [testSection(tests, nameOf)]),
    ...(trial === undefined ? [] : trialSections(trial, nameOf)),
    ...gapSections(effect),
  ]
}

function testSection({ files, kept }: NonNullable<Effect['tests']>, nameOf: (id: string) => string): Section {
  const failed = [...files.tests, ...kept.tests].filter(({ passed }) => !passed)
  const lines = [
    line`Of the files: ${files.passed} passed, ${files.failed} failed.`,
    line`Of others that the account keeps: ${kept.passed} passed, ${kept.failed} failed.`,
    ...failed.slice(0, failuresMax).map((run) => failureLine(run, nameOf)),
    ...leftOut(failed.length - failuresMax, 'failed'),
  ]
  return { title: 'Policy tests', lines }
}

function failureLine(run: PolicyTestRuns['tests'][number], nameOf: (id: string) => string): Line {
  const { description, expect, decision, decided_by, problem } = run
  const found =
    problem === null
      ? decisionInWords({ decision, decided_by: expect.decided_by && named(decided_by, nameOf) })
      : `no decision: ${problem}`
  const expected = decisionInWords({ ...expect, decided_by: named(expect.decided_by, nameOf) })
  return line`FAILED ${description ?? ''}: expected ${expected}; it is ${found}`
}

const named = (part: object | null | undefined, nameOf: (id: string) => string): object | null =>
  part == null
    ? null
    : Object.fromEntries(
        Object.entries(part).map(([name, value]) => [
          name,
          typeof value === 'string' ? nameOf(value) : value,
        ]),
      )

const leftOut = (count: number, what: string): Line[] =>
  count > 0 ? [[`… and ${shownCount(count)} more ${what}.`]] : []

const shownCount = (count: number): string => count.toLocaleString('en-US')
const counted = (count: number, one: string): string => `${shownCount(count)} ${one}${count === 1 ? '' : 's'}`

function trialSections(trial: Trial | null, nameOf: (id: string) => string): Section[] {
  const title = 'Effect on the past'
  if (trial === null)
    return [{ title, lines: [['Nothing that differs decides about records, so none was looked at.']] }]
  const { decisions, since, until, error, state } = trial
  if (decisions === null)
    return [
      {
        title,
        lines: [
          state === 'failed'
            ? line`Not known: the trial failed. ${error ?? ''}`
            : ['Not known: the trial was cancelled.'],
        ],
      },
    ]
  const { records, changed, access } = decisions
  if (access === null) throw new Error('A trial of an account has no access.')
  const { lost, gained } = access
  const summary = [
    line`${records} records from ${since} to ${until} were looked at: ${changed} would be decided differently.`,
    [
      `${counted(lost.clients, 'client')} would lose access (${counted(lost.records, 'record')}, ${shownCount(lost.unexpected)} of them expected by no policy test of the files), ${shownCount(gained.clients)} would gain it (${counted(gained.records, 'record')}).`,
    ],
  ]
  return [
    { title, lines: summary },
    ...accessSection('Access lost', 'refused by', lost, nameOf),
    ...accessSection('Access gained', 'until now refused by', gained, nameOf),
    ...exampleSection(trial, decisions.examples, nameOf),
  ]
}

type Side = TrialAccess['lost'] | TrialAccess['gained']

function accessSection(
  title: string,
  refused: string,
  side: Side,
  nameOf: (id: string) => string,
): Section[] {
  if (side.records === 0) return []
  const { listed, left_out, countries, systems, uncounted } = side
  const lines = [
    groupLine('By country', countries, (value) => value),
    groupLine('By autonomous system', systems, (value) => `AS${value}`),
    ...listed.slice(0, listedMax).map((each) => clientLine(each, refused, nameOf)),
    ...leftOut(left_out + Math.max(0, listed.length - listedMax), 'clients at an edge'),
    ...(uncounted === 0
      ? []
      : [line`${uncounted} more records are of further clients, too many to tell apart.`]),
  ]
  return [{ title, lines }]
}

const groupLine = (title: string, groups: Side['countries'], shown: (value: string) => string): Line => [
  `${title}: `,
  ...groups.flatMap(({ value, clients }, index) => [
    ...(index === 0 ? [] : [', ']),
    { given: value === null ? 'unknown' : shown(value) },
    ` ${counted(clients, 'client')}`,
  ]),
]

function clientLine(each: Side['listed'][number], refused: string, nameOf: (id: string) => string): Line {
  const { client_ip, country, asn, edge_id, server_name, server_port, records, decided_by } = each
  const { type, name, id, cidr } = decided_by
  const place = [country, asn === null ? null : `AS${asn}`].filter((part) => part !== null).join(' ')
  const part = [type, name ?? (id === null ? null : nameOf(id)), cidr].filter((text) => text !== null)
  const expected =
    'expected' in each ? (each.expected ? ' Expected by a test.' : ' Expected by no test.') : ''
  return [
    { given: client_ip },
    ...(place === '' ? [] : [' (', { given: place }, ')']),
    ' at ',
    { given: `${server_name ?? '?'}:${server_port ?? '?'}` },
    ...(edge_id === null ? [] : [', edge ', { given: nameOf(edge_id) }]),
    `: ${counted(records, 'record')}, ${refused} `,
    { given: part.join(' ') },
    `.${expected}`,
  ]
}

function exampleSection(
  trial: Trial,
  examples: readonly TrialExample[],
  nameOf: (id: string) => string,
): Section[] {
  if (examples.length === 0) return []
  const lines = examples.map(
    ({ at, client_ip, server_name, server_port, before, after, record_id }): Line => {
      const refused = after.decision === 'allow' ? before : after
      const by = decisionInWords({
        decision: refused.decision,
        decided_by: named(refused.explanation.decided_by, nameOf),
      })
      return [
        { given: at },
        ' ',
        { given: client_ip },
        ' to ',
        { given: `${server_name ?? '?'}:${server_port ?? '?'}` },
        `: ${before.decision} → ${after.decision} (`,
        { given: by },
        ') ',
        { link: explanationOf(trial, record_id) },
      ]
    },
  )
  return [{ title: 'Examples', lines }]
}

/** The page of the console that explains a record, at the address by which the API calls itself. */
const explanationOf = ({ uri, id }: Trial, recordId: string): string =>
  `${uri.slice(0, -`/tries/${id}`.length)}/console/explain/${encodeURIComponent(recordId)}`

/** What the effect does not say: no difference is missing because nothing was looked at. */
export const gapLines = ({ trial, gaps }: Effect): Line[] =>
  trial === undefined ? [] : [...(trial?.state === 'done' ? trialGaps(trial) : []), ...gaps]

function gapSections(effect: Effect): Section[] {
  const lines = gapLines(effect)
  return lines.length === 0 ? [] : [{ title: 'Not looked at', lines }]
}

function trialGaps({ since, until, kept_from, stopped_by, progress, times, decisions }: Trial): Line[] {
  const noted = decisions?.names.filter(({ note }) => note !== null) ?? []
  return [
    ...(kept_from === null
      ? [line`No record is kept of the time before ${until}.`]
      : Date.parse(kept_from) > Date.parse(since)
        ? [line`No record is kept of the time from ${since} to ${kept_from}, or there was none.`]
        : []),
    ...(stopped_by === null
      ? []
      : [
          line`The trial reached its limit (${stopped_by}) at ${progress.at ?? since}: later records were not looked at.`,
        ]),
    ...(times === null ? [] : timeSentences(times).map((sentence): Line => [sentence])),
    ...noted.map(
      ({ name, records, note }) => line`${name} had no value in ${records} records. ${note ?? ''}`,
    ),
  ]
}
