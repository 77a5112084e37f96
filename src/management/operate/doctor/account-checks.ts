/** What the overview and the findings of each account say: dead letters, certificates, names, lists, states of delivery. */
import { eachOf } from '../../../ground/core/concurrency.js'
import { messageOf } from '../../../ground/core/errors.js'
import { type DoctorCheck, type DoctorLine, doctorLine } from '../../../words/shape/doctor.js'
import type { Finding, Findings } from '../../../words/shape/finding.js'
import type { Attention, OverviewAnswer, OverviewPart } from '../../../words/shape/overview.js'
import type { ViewState } from '../../../words/view/view-state.js'
import { counted } from '../destination-attention.js'

export interface AccountParts {
  readonly stateOf: () => ViewState
  readonly overviewOf: (accountId: string) => Promise<OverviewAnswer>
  readonly findingsOf: (accountId: string) => Promise<Findings>
}

/** Each costs up to some seconds of reading. */
const accountsMax = 20
const atOnceMax = 4

/** The check to which each kind of attention belongs; those that have lines of their own are left out. */
const checkOf: Partial<Record<Attention['type'], DoctorCheck>> = {
  deliverers_silent: 'destinations',
  destination_failing: 'destinations',
  destination_throttled: 'destinations',
  destination_paused: 'destinations',
  destination_behind: 'destinations',
  events_expiring: 'destinations',
  events_dropped: 'destinations',
  dead_letters: 'dead_letters',
  certificates_expiring: 'certificates',
  keys_expiring: 'certificates',
  unserved_names: 'unserved_names',
  policies_failing: 'findings',
  filters_failing: 'findings',
  lists_failing: 'ip_lists',
}

const checkOfPart: Partial<Record<OverviewPart, DoctorCheck>> = {
  destinations: 'destinations',
  dead_letters: 'dead_letters',
  certificates: 'certificates',
  unserved_names: 'unserved_names',
  failing_expressions: 'findings',
}

const adviceFor: Partial<Record<DoctorCheck, string>> = {
  destinations: 'weir destination status shows cause and advice of each.',
  dead_letters: 'weir dead list shows them with their reasons; send them again, or drop them.',
  certificates: 'Replace it before it ends; the console lists what uses it.',
  unserved_names: 'Add the name to an edge, or stop publishing it.',
  findings: 'weir lint shows each with its evidence.',
  ip_lists: 'See whether the source of the list can be reached from here.',
}

/** Each has a line if no account needs a hand. */
export const summedChecks = [
  'dead_letters',
  'certificates',
  'unserved_names',
  'findings',
  'ip_lists',
] as const

export async function accountLines(parts: AccountParts): Promise<DoctorLine[]> {
  const all = [...parts.stateOf().accounts.keys()]
  const accounts = all.slice(0, accountsMax)
  const lines: DoctorLine[] = []
  await eachOf(accounts, atOnceMax, async (id) => void lines.push(...(await linesOf(id, parts))))
  const good = summedChecks
    .filter((check) => !lines.some((line) => line.check === check))
    .map((check) =>
      doctorLine(check, 'good', `Nothing needs a hand in ${counted(accounts.length, 'account')}.`),
    )
  const left = all.length - accounts.length
  if (left === 0) return [...lines, ...good]
  const sentence = `${counted(left, 'account')} more were not looked at: at most ${accountsMax} are.`
  const notChecked = summedChecks.map((check) =>
    doctorLine(check, 'not_checked', sentence, { advice: 'weir status and weir lint look at one.' }),
  )
  return [...lines, ...good, ...notChecked]
}

async function linesOf(accountId: string, { overviewOf, findingsOf }: AccountParts): Promise<DoctorLine[]> {
  const [overview, findings] = await Promise.all([
    overviewOf(accountId).then(
      overviewLines(accountId),
      unread(accountId, ['dead_letters', 'certificates', 'unserved_names', 'ip_lists']),
    ),
    findingsOf(accountId).then(findingLines(accountId), unread(accountId, ['findings'])),
  ])
  return [...overview, ...findings]
}

const unread =
  (about: string, checks: readonly DoctorCheck[]) =>
  (error: unknown): DoctorLine[] =>
    checks.map((check) => doctorLine(check, 'not_checked', `It was not read: ${messageOf(error)}`, { about }))

export const overviewLines =
  (about: string) =>
  ({ attention, unknown }: Pick<OverviewAnswer, 'attention' | 'unknown'>): DoctorLine[] => [
    ...attention.flatMap(({ type, severity, sentence, scope }) => {
      const check = checkOf[type]
      // A notice is worth knowing, and needs no hand.
      if (check === undefined || severity === 'notice' || scope === 'deployment') return []
      const state = severity === 'failing' ? 'bad' : 'warning'
      return [doctorLine(check, state, sentence, { about, advice: adviceFor[check] })]
    }),
    ...unknown.flatMap(({ part, reason }) => {
      const check = checkOfPart[part]
      return check === undefined
        ? []
        : [doctorLine(check, 'not_checked', `It was not read: ${reason}`, { about })]
    }),
  ]

/** A line for each kind of finding: an account may have hundreds of one. */
export const findingLines =
  (about: string) =>
  ({ findings, kinds }: Findings): DoctorLine[] => [
    ...kinds.flatMap(({ kind, found, unknown }) => [
      ...kindLines(about, kind, found, findings),
      ...(unknown === null ? [] : [doctorLine('findings', 'not_checked', `${kind}: ${unknown}`, { about })]),
    ]),
  ]

function kindLines(
  about: string,
  kind: Finding['kind'],
  found: number,
  findings: readonly Finding[],
): DoctorLine[] {
  const first = findings.find((finding) => finding.kind === kind && finding.severity === 'attention')
  if (first === undefined) return []
  const sentence = `${counted(found, 'finding')} of the kind ${kind}. The first: ${first.sentence}`
  return [doctorLine('findings', 'warning', sentence, { about, advice: adviceFor.findings })]
}
