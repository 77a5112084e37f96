/** `weir rules check`: who would allow or refuse an address, and by which rules. */

import { forTerminal } from '../../ground/core/text/terminal.js'
import type { Client } from '../../words/client/client.js'
import type { AddressCheck, CheckedRule, CheckedUse } from '../../words/shape/address-check.js'

export async function showCheck(
  client: Pick<Client, 'checkAddress'>,
  ip: string,
  { json }: { readonly json?: true },
  print: (line: string) => void,
): Promise<void> {
  const check = await client.checkAddress(ip)
  print(json ? JSON.stringify(check) : forTerminal(checkText(check)))
}

function checkText({ ip, rules, rules_left_out, uses, uses_left_out }: AddressCheck): string {
  const head = rules.length === 0 ? `No rule of an IP policy contains ${ip}.` : `Rules that contain ${ip}:`
  return [
    head,
    ...rules.flatMap(ruleLines),
    ...leftOut(rules_left_out, 'rules'),
    ...(uses.length === 0
      ? ['Nothing names an IP policy, and no bouncer an IP list.']
      : ['Edges, routes, IP restrictions and bouncers:']),
    ...uses.map(useLine),
    ...leftOut(uses_left_out, 'uses'),
  ].join('\n')
}

const leftOut = (count: number, what: string): string[] =>
  count === 0 ? [] : [`  and ${count} more ${what}`]

const quoted = (text: string | null): string => (text === null ? '' : ` "${text}"`)

const listText = (id: string, name: string | null): string =>
  name === null ? id : `the list${quoted(name)} (${id})`

function ruleLines(rule: CheckedRule): string[] {
  const {
    action,
    enforced,
    cidr,
    list_id,
    list_name,
    rule_id,
    description,
    expires_at,
    ip_policy_id,
    ip_policy_description,
    added,
  } = rule
  const until = expires_at === null ? '' : `, until ${expires_at}`
  const line = `  ${action.padEnd(5)}  ${cidr}${list_id === null ? '' : ` of ${listText(list_id, list_name)}`}  ${rule_id}${quoted(description)} of ${ip_policy_id}${quoted(ip_policy_description)}${until}${enforced ? '' : ', not enforced'}`
  if (added === null) return [line]
  return [line, `         added ${added.at} by ${added.by ?? 'someone'}${quoted(added.by_description)}`]
}

function useLine(use: CheckedUse): string {
  const { kind, id, decision, applies, hostports, match, type, rule_id, list_id, list_name } = use
  const place = [type, ...hostports, match].filter((part) => part !== null).join(' ')
  const why = rule_id ?? (list_id === null ? 'no rule contains it' : listText(list_id, list_name))
  return `  ${decision.padEnd(5)}  ${kind} ${id}${place === '' ? '' : ` (${place})`}: ${why}${applies ? '' : '; it does not apply now'}`
}
