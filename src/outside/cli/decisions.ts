/** Decisions of the log in the terminal, newest first, and why; and the rules of an IP policy with their uses. */

import { forTerminal } from '../../ground/core/text/terminal.js'
import type { Client } from '../../words/client/client.js'
import type { RowTime } from '../../words/client/decisions.js'
import type { UsedRule } from '../../words/client/rules.js'
import { type DecisionFormat, decisionFormats } from '../../words/shape/decisions/decision-formats.js'
import type { LoggedDecision } from '../../words/shape/decisions/logged-decision.js'
import { UsageFault } from './guide/exit-codes.js'
import { decisionText } from './tap.js'
import { recordWhyText } from './why-report.js'

export interface DecisionsCommand {
  readonly client?: string
  readonly edge?: string
  readonly rule?: string
  readonly decision?: string
  readonly source?: string
  readonly time?: string
  readonly filter?: string
  readonly since: string
  readonly until?: string
  readonly limit: string
  readonly why?: true
  readonly format?: string
  readonly json?: true
}

const pageMax = 100

export async function showDecisions(
  client: Pick<Client, 'decisions' | 'record'>,
  { edge, rule, limit, why, json, format: named, time, ...found }: DecisionsCommand,
  print: (line: string) => void,
): Promise<void> {
  if (why && named !== undefined)
    throw new UsageFault('--why explains one decision, and --format is for several: give one of them.')
  const max = why ? 1 : numberOf(limit)
  const query = {
    ...found,
    ...(edge === undefined ? {} : { edgeId: edge }),
    ...(rule === undefined ? {} : { ruleId: rule }),
    ...(time === undefined ? {} : { time: rowTimeOf(time) }),
    limit: Math.min(max, pageMax),
  }
  const formatName = named ?? (json ? 'ndjson' : undefined)
  const format = formatName === undefined ? undefined : formatOf(formatName)
  if (!why) for (const line of format?.head ?? []) print(line)
  const isByOwn = time === 'own' || (time === undefined && found.source === 'history')
  let shown = 0
  for await (const decision of client.decisions(query)) {
    if (why) return explain(client, decision, json === true, print)
    print(format?.line(decision) ?? forTerminal(lineOf(decision, isByOwn)))
    shown += 1
    if (shown >= max) return
  }
  if (shown === 0 && format === undefined) print('No such decision is in the log.')
}

/** Begins with the time that the list goes by, and ends with the other one. */
function lineOf(decision: LoggedDecision, isByOwn: boolean): string {
  const { at, own_at } = decision
  const [first, other] = isByOwn && own_at ? [own_at, `stored ${at}`] : [at, own_at ? `began ${own_at}` : '']
  return `${first.slice(0, 10)} ${decisionText({ ...decision, at: first })}  ${other}`.trimEnd()
}

/** Throws for another word. */
export function rowTimeOf(text: string): RowTime {
  if (text === 'stored' || text === 'own') return text
  throw new UsageFault(`--time is "${text}", but must be stored or own.`)
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

function formatOf(name: string): DecisionFormat {
  if (name === 'ndjson' || name === 'csv') return decisionFormats[name]
  throw new UsageFault(`--format is "${name}", but must be ndjson or csv.`)
}

function numberOf(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new UsageFault(`--limit is "${text}", but must be a whole number from 1 on.`)
}

export interface RulesCommand {
  readonly since: string
  readonly filter?: string
  readonly json?: true
}

/** The rules of an IP policy in the terminal, with how often each decided. */
export async function showRules(
  client: Pick<Client, 'rules'>,
  policyId: string,
  { since: countsSince, filter, json }: RulesCommand,
  print: (line: string) => void,
): Promise<void> {
  let shown = 0
  const options = filter === undefined ? { countsSince } : { countsSince, filter }
  for await (const rule of client.rules(policyId, options)) {
    print(json ? JSON.stringify(rule) : forTerminal(ruleText(rule)))
    shown += 1
  }
  if (shown === 0 && !json) print('The IP policy has no such rules.')
}

/** `deny   203.0.113.66/32     310 blocked  12 asked  last 2026-11-20T10:04:00Z  ipr_…  abuse` */
function ruleText({ id, cidr, list, action, counts, description }: UsedRule): string {
  const uses =
    counts === null
      ? '-'
      : `${counts.blocked} blocked  ${counts.asked} asked  ${counts.last_at === null ? 'never' : `last ${counts.last_at}`}`
  return [action.padEnd(5), (cidr ?? `list ${list?.id}`).padEnd(18), uses, id, description]
    .filter(Boolean)
    .join('  ')
}
