/** A running trial as the API sees it: a child process, which is ended as soon as it has reported. */
import type { ChildProcess } from 'node:child_process'
import { after, yieldTurn } from '../../ground/core/clock.js'
import type { IpRule } from '../evaluate/policy-source.js'
import type { AccountDraft } from '../evaluate/portable/account-draft.js'
import { type TrialProgress, type TrialReport, trialMsMax } from './trial.js'
import type { FromTrial, ToTrial, TrialJob } from './trial-child.js'

/** A trial that has not ended after this much more time is stopped from outside. */
const trialGraceMs = 60_000
/** Rules passed to the process of a trial in one message, and characters of the draft of an account. */
const trialRulesAtOnce = 2_000
const trialCharsAtOnce = 256 * 1024

/** The parts of a draft that may be large. */
export interface LargeDraft {
  /** All rules of the drafted policy. */
  readonly rules?: readonly IpRule[]
  readonly account?: AccountDraft | undefined
}

export interface RunningTrial {
  /** Rejects if the trial fails or is ended. */
  readonly ended: Promise<TrialReport>
  end(): void
}

export type StartTrial = (
  job: TrialJob,
  draft: LargeDraft,
  progressed: (progress: TrialProgress) => void,
) => RunningTrial

/** `fork` starts a process that calls `serveTrial`, with a channel of the kind `advanced`. */
export const trialStarter =
  (fork: () => ChildProcess): StartTrial =>
  (job, draft, progressed) => {
    const child = fork()
    const end = (): void => void child.kill('SIGKILL')
    const ended = new Promise<TrialReport>((resolve, reject) => {
      const fail = (reason: string): void => reject(new Error(reason))
      const late = after(trialMsMax + trialGraceMs, () => fail('It did not end in time.'))
      child.on('message', (message: FromTrial) => {
        if (message.type === 'progress') progressed(message.progress)
        else if (message.type === 'done') resolve(message.report)
        else fail(message.msg)
      })
      child.once('exit', (code, signal) => {
        late.stop()
        fail(`Its process ended: ${signal ?? `exit code ${code}`}.`)
      })
      child.on('error', (error) => fail(`Its process failed: ${error.message}.`))
      send(child, job, draft).catch(fail)
    })
    return { ended: ended.finally(end), end }
  }

/** The members of a rule that a trial uses and shows. */
const shownOf = ({
  id,
  cidr,
  list_id = null,
  action,
  description = null,
  expires_at = null,
  enforced = true,
}: IpRule): IpRule => ({
  id,
  cidr,
  list_id,
  action,
  description,
  expires_at,
  enforced,
})

/** In parts: a message is copied in one go, and other requests must not wait for it. */
async function send(child: ChildProcess, job: TrialJob, { rules = [], account }: LargeDraft): Promise<void> {
  const tell = (message: ToTrial): void => {
    if (child.connected) child.send(message, () => {})
  }
  for (let first = 0; first < rules.length; first += trialRulesAtOnce) {
    const part = rules.slice(first, first + trialRulesAtOnce)
    tell({ type: 'rules', rules: part.map(shownOf) })
    await yieldTurn()
  }
  const text = account === undefined ? '' : JSON.stringify(account)
  for (let first = 0; first < text.length; first += trialCharsAtOnce) {
    tell({ type: 'account', text: text.slice(first, first + trialCharsAtOnce) })
    await yieldTurn()
  }
  tell({ type: 'start', job })
}
