/** `weir plan`: what `weir apply` would change, and what that would do to policy tests and to the clients of the past. */
import { monotonicMs, sleep } from '../../../ground/core/clock.js'
import { StartFault } from '../../../ground/core/errors.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { stopSignal } from '../../../management/process/child.js'
import { environment, type Settings } from '../../../management/process/settings.js'
import { ApiError, type Client } from '../../../words/client/client.js'
import type { AccountDraft } from '../../../words/shape/account-draft.js'
import type { Trial } from '../../../words/shape/trial.js'
import { type Live, readAccount } from '../../as-code/account-state.js'
import { Comparison, type Plan } from '../../as-code/difference.js'
import {
  type Effect,
  effectSections,
  gapLines,
  lostUnexpectedly,
  testsFailed,
  trialFailed,
} from '../../as-code/effect/effect-report.js'
import { draftOf } from '../../as-code/effect/plan-draft.js'
import { planMarkdown } from '../../as-code/effect/plan-markdown.js'
import { plainLine, plainSections } from '../../as-code/effect/report-lines.js'
import { lastChanges } from '../../as-code/last-changes.js'
import { type ManagedKind, managedKinds } from '../../as-code/managed-kinds.js'
import { type LastChanges, planReport } from '../../as-code/plan-report.js'
import { SourceFiles } from '../../as-code/source-files.js'
import { exitCode, UsageFault } from '../guide/exit-codes.js'
import { ProgressLine } from '../progress.js'
import { whenEnded } from '../try/try.js'
import { patientClientOf } from './patient-client.js'

export interface PlanOptions {
  readonly prune?: true
  readonly json?: true
  readonly markdown?: true
  readonly tests?: true
  /** Which traffic, as a trial takes it. */
  readonly try?: string
}

/** What a program needs to know: 0: no difference, 2: a difference. */
const differs = 2

interface PlannedAccount {
  readonly plan: Plan
  readonly account: ReadonlyMap<ManagedKind, readonly Live[]>
}

/** Resolves with the exit code. */
export async function planFiles(
  settings: Settings,
  paths: readonly string[],
  options: PlanOptions,
): Promise<number> {
  if (options.json && options.markdown)
    throw new UsageFault('--json and --markdown exclude each other: give one of them.')
  const files = SourceFiles.read(paths, environment())
  const { concealed } = files
  const client = patientClientOf(settings, (warning) => concealed.answer(warning))
  return concealed.guard(async () => {
    const planned = await planOf(client, files, options)
    const effect = concealed.answer(await effectOf(client, planned, options))
    const last = await lastChanges(client, planned.plan)
    const shownLast = new Map([...last].map(([id, change]) => [id, concealed.answer(change)]))
    return reported(planned.plan, shownLast, effect, options)
  })
}

function reported(plan: Plan, last: LastChanges, effect: Effect, options: PlanOptions): number {
  process.stdout.write(reportOf(plan, last, effect, options))
  if (testsFailed(effect) > 0 || trialFailed(effect)) return exitCode.found
  if (lostUnexpectedly(effect) > 0) return exitCode.accessLost
  return plan.differences.length === 0 ? exitCode.done : differs
}

function reportOf(plan: Plan, last: LastChanges, effect: Effect, { json, markdown }: PlanOptions): string {
  if (markdown) return planMarkdown(plan, last, effect)
  const text = json
    ? JSON.stringify({ ...summaryOf(plan, last), effect: shownEffect(effect) })
    : [planReport(plan, last), ...plainSections(effectSections(effect, plan.nameOf))].join('\n')
  return `${forTerminal(text)}\n`
}

const shownEffect = (effect: Effect) => ({
  tests: effect.tests ?? null,
  trial: effect.trial ?? null,
  lost_unexpectedly: effect.trial?.decisions ? lostUnexpectedly(effect) : null,
  not_looked_at: gapLines(effect).map(plainLine),
})

export async function planOf(
  client: Client,
  files: SourceFiles,
  { prune = false }: { prune?: boolean },
): Promise<PlannedAccount> {
  const account = await readAccount(client)
  const { plan, faults } = await compared(new Comparison(client, files), account, prune, countOf(files))
  if (faults.length > 0) throw new StartFault(faults.join('\n'))
  return { plan, account }
}

const countOf = ({ entries }: SourceFiles): number =>
  [...entries.values()].reduce((sum, { length }) => sum + length, 0)

/** The API is asked about each difference. `of`: entries. */
async function compared(
  comparison: Comparison,
  account: PlannedAccount['account'],
  prune: boolean,
  of: number,
): ReturnType<Comparison['plan']> {
  const line = new ProgressLine()
  let done = 0
  const show = (): void => {
    done += 1
    line.show(`${done} of ${of} entries compared`, { done, of })
  }
  try {
    return await comparison.plan(account, { prune, compared: show })
  } finally {
    line.end()
  }
}

const policyTestKind = managedKinds.find(({ name }) => name === 'policyTest')!

async function effectOf(
  client: Client,
  { plan, account }: PlannedAccount,
  { tests: runsTests, try: since }: PlanOptions,
): Promise<Effect> {
  const { draft, decides, tests, gaps } = draftOf(plan, account.get(policyTestKind) ?? [])
  const run = (some: typeof tests.files) => client.runPolicyTests(some as never, draft)
  return {
    tests: runsTests && { files: await run(tests.files), kept: await run(tests.kept) },
    trial: since === undefined ? undefined : decides ? await triedSince(client, draft, since) : null,
    gaps,
  }
}

async function triedSince(client: Client, draft: AccountDraft, since: string): Promise<Trial> {
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  return whenEnded(client, await begun(client, draft, since, stop.signal), stop.signal)
}

/** An account has one trial at a time, and another pull request may have one now. */
const patienceMs = 6 * 60_000
const tryAgainMs = 5_000
const tooMany = 429

async function begun(
  client: Client,
  draft: AccountDraft,
  since: string,
  signal: AbortSignal,
): Promise<Trial> {
  for (const startedMs = monotonicMs(); ; await sleep(tryAgainMs, signal)) {
    try {
      return await client.tryAccount(draft, { since })
    } catch (error) {
      const mayWait = error instanceof ApiError && error.status_code === tooMany && !signal.aborted
      if (!mayWait || monotonicMs() - startedMs > patienceMs) throw error
    }
  }
}

/** `last`: what a plan adds. */
export const summaryOf = ({ differences, others, unchanged, unchecked }: Plan, last?: LastChanges) => ({
  differences: differences.map(({ action, kind, name, id, live, fields, parts, refusal }) => ({
    action,
    section: kind.section,
    name,
    id: live?.id ?? null,
    fields,
    parts: parts.counts,
    refusal: refusal ?? null,
    // What the effect calls something that is to be made.
    ...(last && { draft_id: id === live?.id ? null : id, last_change: lastChangeOf(last, live?.id) }),
  })),
  not_described: others.map(({ kind, name, live }) => ({ section: kind.section, name, id: live.id })),
  unchanged,
  unchecked,
})

function lastChangeOf(last: LastChanges, id: string | undefined) {
  const change = id === undefined ? undefined : last.get(id)
  if (change === undefined) return null
  const { changed_at, by, by_description } = change
  return { changed_at, by, by_description }
}
