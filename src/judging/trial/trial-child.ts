/** The child process of a trial: it gets a job, reports its progress, and ends with a report. */
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { messageOf } from '../../ground/core/errors.js'
import type { IpRule } from '../evaluate/policy-source.js'
import type { AccountDraft } from '../evaluate/portable/account-draft.js'
import type { Draft } from './examiner.js'
import type { TrialProgress, TrialReport } from './trial.js'

export interface TrialJob {
  readonly accountId: string
  /** The account's version that the draft was checked against. */
  readonly version: number
  readonly sinceMs: number
  readonly untilMs: number
  /** Do these times go by the own times of records? */
  readonly isByOwnTime: boolean
  readonly rows: Draft['rows']
  /** The policy whose rules are drafted. */
  readonly policyId?: string
}

/** What is large comes in several messages, before the job: many rules, and the draft of an account as JSON. */
export type ToTrial =
  | { readonly type: 'rules'; readonly rules: readonly IpRule[] }
  | { readonly type: 'account'; readonly text: string }
  | { readonly type: 'start'; readonly job: TrialJob }

export type FromTrial =
  | { readonly type: 'progress'; readonly progress: TrialProgress }
  | { readonly type: 'done'; readonly report: TrialReport }
  | { readonly type: 'failed'; readonly msg: string }

export type RunTrial = (
  job: TrialJob,
  draft: Draft,
  progressed: (progress: TrialProgress) => void,
) => Promise<TrialReport>

/** As `nice` counts it. */
const priority = 5

/**
 * Resolves when the parent has the report, ends or disconnects. Records that are processed go first, but someone waits for
 * the trial: the lowest priority (nice 19) would get less than a hundredth of a core that one other keeps busy, this one a
 * quarter.
 */
export async function serveTrial(run: RunTrial): Promise<void> {
  setPriority(priority)
  const rules: IpRule[] = []
  let account = ''
  const tell = (message: FromTrial): void => {
    process.send?.(message, () => {})
  }
  const start = async (job: TrialJob): Promise<void> => {
    const { rows, policyId } = job
    const draft = {
      rows,
      rules: policyId === undefined ? undefined : { policyId, rules },
      account: account === '' ? undefined : (JSON.parse(account) as AccountDraft),
    }
    try {
      const report = await run(job, draft, (progress) => tell({ type: 'progress', progress }))
      tell({ type: 'done', report })
    } catch (error) {
      tell({ type: 'failed', msg: messageOf(error) })
    }
  }
  process.on('message', (message: ToTrial) => {
    if (message.type === 'rules') rules.push(...message.rules)
    else if (message.type === 'account') account += message.text
    else void start(message.job)
  })
  if (process.connected) await once(process, 'disconnect')
}
