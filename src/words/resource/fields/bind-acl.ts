/**
 * Bind rules of a tunnel or SSH credential: the names and addresses that an agent may bind. No rules, or the rule `*`, mean
 * no restriction.
 *
 * - `bind:<host>`, `bind:<host>:<port>`: this name or address; without a port, on any port.
 * - `bind:*.<domain>`: every name below the domain, at any depth, and `*.<domain>` itself; not the domain.
 */

import { parseHost } from '../../../ground/core/address/host-name.js'
import { parseHostport } from '../../../ground/core/address/hostport.js'
import { familyOf } from '../../../ground/core/address/ip.js'
import { complaintOf, ok, problem, type Result, valueOr } from '../../../ground/core/errors.js'
import { aclRulesMax, hostportCharsMax } from '../../../ground/core/limits.js'
import { documented, ruled, Type } from '../../../ground/core/schema.js'
import { defaulted } from './fields.js'

export const anything = '*'
const ruleHead = 'bind:'
const wildcard = '*.'

/** The target of a rule in its canonical spelling: names lower-case, addresses canonical. */
export function parseBindRule(rule: string): Result<string> {
  if (rule === anything) return ok(anything)
  if (!rule.startsWith(ruleHead)) return problem('"*", "bind:<host>" or "bind:*.<domain>" is needed')
  return parseBindTarget(rule.slice(ruleHead.length))
}

/** The target that an agent wants to bind, in the same spelling. */
export function parseBindTarget(target: string): Result<string> {
  if (familyOf(target) === 6) return parseHost(`[${target}]`)
  if (!target.startsWith(wildcard)) return /:\d*$/.test(target) ? parseHostport(target) : parseHost(target)
  const domain = parseHost(target.slice(wildcard.length))
  if (!domain.ok) return domain
  const isAddress = domain.value.startsWith('[') || familyOf(domain.value) !== undefined
  return isAddress ? problem('an address has no subdomains') : ok(`${wildcard}${domain.value}`)
}

const rule = ruled(
  Type.String({
    title: 'BindRule',
    maxLength: hostportCharsMax,
    description: '"*", "bind:<host>" or "bind:*.<domain>".',
    ...documented({ pattern: '^(\\*|bind:\\S+)$' }),
  }),
  (text) => complaintOf(parseBindRule(text)),
)

/** For a rule that was checked before. */
const canonical = (rule: string): string => {
  const target = valueOr(parseBindRule(rule), anything)
  return target === anything ? anything : `${ruleHead}${target}`
}

export const bindAcl = {
  ...defaulted(
    Type.Array(rule, {
      maxItems: aclRulesMax,
      description: 'What may be bound; anything if there are no rules.',
    }),
    [],
  ),
  complete: (rules: readonly string[]) => rules.map(canonical),
}
