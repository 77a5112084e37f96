/**
 * The rules of traffic policies, which are checked when they are saved. Without schemas, so that a program that only
 * evaluates needs none of them.
 */

import { type PolicyScopes, policyScopes } from '../../../delivery/record/policy-scope.js'
import { utf8Length } from '../../../ground/core/bytes.js'
import { EntryFaults } from '../../../ground/core/entry-faults.js'
import { badRequest, shown, WeirError } from '../../../ground/core/errors.js'
import { logMetadataBytesMax } from '../../../ground/core/limits.js'
import { nearestNames } from '../../../ground/core/nearest.js'
import { checkExpression, listsIn } from '../../../ground/expr/expression.js'
import { expressionFault } from '../../../ground/expr/problem.js'
import type { Scope } from '../../../ground/expr/scope.js'
import type { Lookups } from '../kind/define.js'

/** All expressions of one traffic policy module together. */
const expressionsPerModuleBytesMax = 64 * 1024

type Direction = 'inbound' | 'outbound'

interface Action {
  readonly type: 'deny' | 'log'
  readonly config?: Record<string, unknown> | null
}

/** A policy with its omitted parts filled in. */
interface Policy {
  readonly expressions: readonly string[]
  readonly actions: readonly Action[]
}

type Module = Readonly<Record<Direction, readonly Policy[]>>

/** The kinds with the module, and the names that its expressions may use there. */
export const policyScopesOf = {
  tcp_edge: policyScopes.tcp_connection,
  https_edge: policyScopes.http_request,
  https_edge_route: policyScopes.http_request,
} as const satisfies Readonly<Record<string, PolicyScopes>>

export type PolicyKind = keyof typeof policyScopesOf

/** The context of a check: names of places in the body, and the resources of the account. */
interface Checks {
  readonly nameInBody: Lookups['nameInBody']
  /** The resources of the account: its IP lists are asked for. */
  all(kind: string): Iterable<Readonly<Record<string, unknown>>>
}

/** Checks what the schema can't; throws an error that names the places in the request's body. */
export function checkTrafficPolicies(
  kind: PolicyKind,
  module: Module | null | undefined,
  lookups: Checks,
): void {
  if (module === null || module === undefined) return
  const faults = new EntryFaults()
  let expressionBytes = 0
  const { nameInBody } = lookups
  for (const side of ['inbound', 'outbound'] as const) {
    for (const [index, entry] of module[side].entries()) {
      const place = nameInBody(`policies.${side}[${index}]`)
      expressionBytes += checkExpressions(entry, policyScopesOf[kind][side], place, faults)
      checkLists(entry, policyScopesOf[kind][side], place, lookups, faults)
      if (expressionBytes > expressionsPerModuleBytesMax) {
        throw badRequest(
          `"${place}.expressions" brings the module to ${expressionBytes} bytes of expressions: at most ${expressionsPerModuleBytesMax} are allowed.`,
        )
      }
      checkActions(entry.actions, side, place, faults)
    }
  }
  faults.throwIfAny()
}

function checkExpressions(
  { expressions }: Policy,
  scope: Scope<never>,
  place: string,
  faults: EntryFaults,
): number {
  let bytes = 0
  for (const [index, text] of expressions.entries()) {
    bytes += utf8Length(text)
    const found = checkExpression(text, scope)
    if (found === undefined) continue
    const entry = `${place}.expressions[${index}]`
    const sentence = `"${entry}" is not a valid expression: ${found.msg}`
    faults.add(entry, expressionFault(entry, found, sentence))
  }
  return bytes
}

/** An expression that is about a list is refused if the account has no such list. */
function checkLists(
  { expressions }: Policy,
  scope: Scope<never>,
  place: string,
  lookups: Checks,
  faults: EntryFaults,
): void {
  for (const [index, text] of expressions.entries()) {
    for (const { name, problem } of mayNameList(text) ? listsIn(text, scope) : []) {
      const known = [...lookups.all('ip_list')].map((list) => String(list['name']))
      if (known.includes(name)) continue
      const [nearest] = nearestNames(name, known, 1)
      const { mark, msg } = problem(nearest === undefined ? undefined : `did you mean ${shown(nearest)}?`)
      const entry = `${place}.expressions[${index}]`
      const places = [{ place: entry, ...mark, msg }]
      faults.add(
        entry,
        new WeirError('ERR_NOT_FOUND', `"${entry}" names what does not exist: ${msg}`, { places }),
      )
      break
    }
  }
}

/** Most expressions ask about no list, and need not be read again. */
const mayNameList = (text: string): boolean => text.includes('inList')

/** The place of a policy whose expressions ask about the list, such as `inbound[0].expressions[1]`. */
export function placeOfList(
  kind: PolicyKind,
  module: Module | null | undefined,
  list: string,
): string | undefined {
  for (const side of ['inbound', 'outbound'] as const)
    for (const [index, { expressions }] of (module?.[side] ?? []).entries())
      for (const [number, text] of expressions.entries())
        if (mayNameList(text) && listsIn(text, policyScopesOf[kind][side]).some(({ name }) => name === list))
          return `policies.${side}[${index}].expressions[${number}]`
  return undefined
}

function checkActions(actions: readonly Action[], side: Direction, place: string, faults: EntryFaults): void {
  const denyIndex = actions.findIndex(({ type }) => type === 'deny')
  for (const [index, { type, config }] of actions.entries()) {
    const entry = `${place}.actions[${index}]`
    faults.check(entry, () => {
      if (type === 'deny' && side === 'outbound')
        throw badRequest(
          `"${entry}.type" is "deny", which only inbound policies may do: outbound ones may "log".`,
        )
      if (denyIndex !== -1 && index > denyIndex)
        throw badRequest(`"${entry}" comes after a deny and would never run: deny must be the last action.`)
      if (type === 'log') checkLogConfig(config ?? {}, `${entry}.config`)
      else if (config !== null) throw configOfDeny(`${entry}.config`)
    })
  }
}

const configOfDeny = (place: string): WeirError =>
  badRequest(`"${place}" is given, but a deny action has no configuration: leave it out or send null.`)

const isMetadata = (key: string): boolean => key.toLowerCase() === 'metadata'

/** The log action's configuration: the only key is Metadata, in any letter case, with a map. */
function checkLogConfig(config: Record<string, unknown>, place: string): void {
  const keys = Object.keys(config)
  const other = keys.find((key) => !isMetadata(key))
  if (other !== undefined)
    throw badRequest(`"${place}" has no field ${shown(other)}: supported are "Metadata".`)
  const [name, again] = keys
  if (again !== undefined) {
    throw badRequest(
      `"${place}" has the fields "${name}" and "${again}", which mean the same: send only one.`,
    )
  }
  const metadata = name === undefined ? undefined : config[name]
  if (name === undefined || typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw badRequest(`"${place}" must be {"Metadata": {…}}, a map for the log event.`)
  const bytes = utf8Length(JSON.stringify(metadata))
  if (bytes > logMetadataBytesMax)
    throw badRequest(
      `"${place}.${name}" has ${bytes} bytes as JSON: at most ${logMetadataBytesMax} are allowed.`,
    )
}
