/** `weir try`: a draft from a file, tried on recorded traffic; Ctrl-C cancels it. */
import { readFileSync } from 'node:fs'
import type { Client, TryOptions } from '../client/client.js'
import { sleep } from '../core/clock.js'
import { messageOf, StartFault } from '../core/errors.js'
import { forTerminal } from '../core/text/terminal.js'
import { stopSignal } from '../process/child.js'
import type { Settings } from '../process/settings.js'
import type { Trial } from '../shape/trial.js'
import { clientOf } from './tap.js'
import { progressText, trialReport } from './trial-report.js'

interface TryCommand {
  readonly file: string
  readonly since: string
  readonly json?: true
  /** Of the rules of a plain list. */
  readonly action?: string
}

type Begin = (client: Client, id: string, draft: unknown, options: TryOptions) => Promise<Trial>

/** The API checks each draft and reports its faults. */
const drafts = {
  policies: (client, id, draft, options) => client.tcpEdge.policies.try(id, draft as never, options),
  'ip-restriction': (client, id, draft, options) =>
    client.tcpEdge.ip_restriction.try(id, draft as never, options),
  rules: (client, id, draft, options) => client.tryRules(id, rulesIn(draft), options),
  restriction: (client, id, draft, options) => client.tryRestriction(id, draft as never, options),
  subscription: (client, _id, draft, options) => client.trySubscription(draft as never, options),
} satisfies Record<string, Begin>

/** The body of the replacement, or the list alone. */
const rulesIn = (draft: unknown): never =>
  (Array.isArray(draft) ? draft : (draft as { readonly rules?: unknown } | null)?.rules) as never

/**
 * The rules of a plain list: a range or an address per line, `#` begins a comment. `undefined` if the text is JSON. The API
 * checks the ranges, and names those that are wrong.
 */
export function rulesOfList(
  text: string,
  action: string,
): readonly { readonly cidr: string; readonly action: string }[] | undefined {
  if (/^\s*[[{]/.test(text)) return undefined
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
    .map((cidr) => ({ cidr, action }))
}

const lookAgainMs = 500

/** Resolves with the exit code. */
export async function tryDraft(
  settings: Settings,
  what: keyof typeof drafts,
  id: string,
  { file, since, json, action }: TryCommand,
): Promise<number> {
  const client = clientOf(settings)
  const draft = draftIn(file, action)
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const begin: Begin = drafts[what]
  const begun = await begin(client, id, draft, { since })
  const trial = await whenEnded(client, begun, stop.signal)
  if (trial.state === 'failed')
    process.stderr.write(`weir: The trial failed: ${forTerminal(trial.error ?? '')}\n`)
  else if (trial.state === 'cancelled') process.stderr.write('weir: The trial was cancelled.\n')
  if (json) process.stdout.write(`${JSON.stringify(trial)}\n`)
  else if (trial.state === 'done') process.stdout.write(forTerminal(trialReport(trial)))
  return trial.state === 'done' ? 0 : 1
}

function draftIn(file: string, action: string | undefined): unknown {
  try {
    const text = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/^\uFEFF/, '')
    return (action === undefined ? undefined : rulesOfList(text, action)) ?? JSON.parse(text)
  } catch (error) {
    throw new StartFault(`The draft ${file} can't be read: ${messageOf(error)}`)
  }
}

async function whenEnded(client: Client, begun: Trial, signal: AbortSignal): Promise<Trial> {
  const isTerminal = process.stderr.isTTY === true
  for (let trial = begun; ; trial = await client.trial(begun.id)) {
    if (trial.state !== 'running') {
      if (isTerminal) process.stderr.write('\r\u001b[K')
      return trial
    }
    if (isTerminal) process.stderr.write(`\r\u001b[K${progressText(trial)}`)
    if (signal.aborted) await client.cancelTrial(begun.id)
    else await sleep(lookAgainMs, signal)
  }
}
