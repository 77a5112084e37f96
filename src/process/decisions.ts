/** Decisions of the log in the terminal, newest first; and why, in one command. */
import type { Client } from '../client/client.js'
import { StartFault } from '../core/errors.js'
import { forTerminal } from '../core/terminal.js'
import type { LoggedDecision } from '../resource/logged-decision.js'
import { decisionText } from './tap.js'
import { recordWhyText } from './why-report.js'

export interface DecisionsCommand {
  readonly client?: string
  readonly edge?: string
  readonly rule?: string
  readonly decision?: string
  readonly source?: string
  readonly filter?: string
  readonly since: string
  readonly until?: string
  readonly limit: string
  readonly why?: true
  readonly json?: true
}

const pageMax = 100

export async function showDecisions(
  client: Pick<Client, 'decisions' | 'record'>,
  { edge, rule, limit, why, json, ...found }: DecisionsCommand,
  print: (line: string) => void,
): Promise<void> {
  const max = why ? 1 : numberOf(limit)
  const query = {
    ...found,
    ...(edge === undefined ? {} : { edgeId: edge }),
    ...(rule === undefined ? {} : { ruleId: rule }),
    limit: Math.min(max, pageMax),
  }
  let shown = 0
  for await (const decision of client.decisions(query)) {
    if (why) return explain(client, decision, json === true, print)
    print(
      json ? JSON.stringify(decision) : forTerminal(`${decision.at.slice(0, 10)} ${decisionText(decision)}`),
    )
    shown += 1
    if (shown >= max) return
  }
  if (shown === 0 && !json) print('No such decision is in the log.')
}

async function explain(
  client: Pick<Client, 'record'>,
  { record_id }: LoggedDecision,
  isJson: boolean,
  print: (line: string) => void,
): Promise<void> {
  const traced = await client.record(record_id)
  print(isJson ? JSON.stringify(traced) : forTerminal(recordWhyText(traced)))
}

function numberOf(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new StartFault(`--limit is "${text}", but must be a whole number from 1 on.`)
}
