/** The rules of an IP policy in the terminal, with how often each decided. */
import type { Client } from '../client/client.js'
import type { UsedRule } from '../client/rules.js'
import { forTerminal } from '../core/text/terminal.js'

export interface RulesCommand {
  readonly since: string
  readonly filter?: string
  readonly json?: true
}

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
function ruleText({ id, cidr, action, counts, description }: UsedRule): string {
  const uses =
    counts === null
      ? '-'
      : `${counts.blocked} blocked  ${counts.asked} asked  ${counts.last_at === null ? 'never' : `last ${counts.last_at}`}`
  return [action.padEnd(5), cidr.padEnd(18), uses, id, description].filter(Boolean).join('  ')
}
