/**
 * The module with traffic policies: an object with `inbound` and `outbound`, or its text in YAML or JSON. It is taken as a
 * whole or not at all, because a part of it can mean the opposite.
 */
import { canonicalRange } from '../../../ground/core/address/list-entry.js'
import { WeirError } from '../../../ground/core/errors.js'
import { newId } from '../../../ground/core/ids.js'
import { isObject, type JsonObject } from '../../../ground/core/json-object.js'
import { readYaml } from '../../../ground/core/text/yaml.js'
import { checkTrafficPolicies } from '../../../words/resource/fields/traffic-policy-check.js'
import type { ImportRun } from '../draft/import-run.js'
import type { Item } from '../draft/item.js'
import { type IpRestriction, namedPolicies } from './ip-policies.js'

const textBytesMax = 256 * 1024

/** The phases of ngrok, and the directions of Weir. */
const directions: Readonly<Record<string, 'inbound' | 'outbound'>> = {
  inbound: 'inbound',
  on_tcp_connect: 'inbound',
  on_http_request: 'inbound',
  outbound: 'outbound',
  on_http_response: 'outbound',
}

class Untranslatable extends Error {}

export interface PolicyModules {
  readonly policies?: JsonObject
  readonly ip_restriction?: IpRestriction
}

interface Owner {
  readonly id: string
  readonly kind: 'tcp_edge' | 'https_edge_route'
  /** It has the module ip_restriction, too. */
  readonly isRestricted: boolean
}

/** Undefined if it can't be said in Weir; then the item says why. */
export function trafficPoliciesIn(
  run: ImportRun,
  item: Item,
  { id, kind, isRestricted }: Owner,
): PolicyModules | undefined {
  try {
    const isEnabled = (item.get('enabled') ?? true) === true
    const text = item.text('value')
    const { enabled, ...phases } = text === undefined ? phasesOf(item) : parsed(text)
    const { restriction, others } = withoutRestriction(phases)
    if (restriction !== undefined && isRestricted)
      throw new Untranslatable('Its action restrict-ips comes on top of the module ip_restriction.')
    const module = { enabled: isEnabled && enabled !== false, ...translated(others, item) }
    checkTrafficPolicies(kind, module, { nameInBody: (name) => name, all: () => [] })
    const isEmpty = module.inbound.length + module.outbound.length === 0
    if (!isEmpty)
      item.change("Its expressions are read in Weir's language: add policy tests before you rely on them.")
    return {
      ...(!isEmpty && { policies: module }),
      ...(restriction !== undefined && {
        ip_restriction: restrictionIn(run, item, restriction, { id, isEnabled: module.enabled }),
      }),
    }
  } catch (error) {
    if (!(error instanceof Untranslatable || error instanceof WeirError)) throw error
    item.refuse(`It can't be said in Weir, which lets in what it refused. ${error.message}`)
    return undefined
  }
}

/** Of the older form, in which they are members of the module. */
const phasesOf = (item: Item): JsonObject =>
  Object.fromEntries(['inbound', 'outbound'].map((phase) => [phase, item.get(phase) ?? []]))

function parsed(text: string): JsonObject {
  const read = readYaml(text, 'The traffic policy', textBytesMax)
  if (!read.ok) throw new Untranslatable(read.faults.map(({ msg }) => msg).join(' '))
  if (!isObject(read.value)) throw new Untranslatable('It is not a map of phases.')
  return read.value
}

/**
 * The action restrict-ips is the module ip_restriction of Weir, if it is for everyone: alone in a rule without expressions,
 * once, before anything is answered.
 */
function withoutRestriction(phases: JsonObject): { restriction?: JsonObject; others: JsonObject } {
  const found: JsonObject[] = []
  const others = Object.entries(phases).map(([phase, rules]) => {
    if (!Array.isArray(rules) || directions[phase] !== 'inbound') return [phase, rules]
    const rest = rules.filter((rule: unknown) => {
      const restriction = restrictionOf(rule)
      if (restriction !== undefined) found.push(restriction)
      return restriction === undefined
    })
    return [phase, rest]
  })
  const [restriction] = found
  if (found.length > 1) throw new Untranslatable('It has the action restrict-ips more than once.')
  return { ...(restriction && { restriction }), others: Object.fromEntries(others) as JsonObject }
}

function restrictionOf(rule: unknown): JsonObject | undefined {
  const { expressions = [], actions } = isObject(rule) ? rule : {}
  const [action, ...more] = Array.isArray(actions) ? (actions as readonly unknown[]) : []
  const isForAll = Array.isArray(expressions) && expressions.length === 0 && more.length === 0
  return isForAll && isObject(action) && action['type'] === 'restrict-ips' && isObject(action['config'])
    ? action['config']
    : undefined
}

/** Its lists become a policy of their own. */
function restrictionIn(
  run: ImportRun,
  item: Item,
  config: JsonObject,
  { id: owner, isEnabled }: { readonly id: string; readonly isEnabled: boolean },
): IpRestriction {
  const { enforce = true, allow = [], deny = [], ip_policies = [], ...others } = config
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new Untranslatable(`Weir has no "${unknown}" in restrict-ips.`)
  if (!isTexts(allow) || !isTexts(deny) || !Array.isArray(ip_policies))
    throw new Untranslatable('The lists of restrict-ips are not lists.')
  const named = namedPolicies(run, ip_policies)
  const rules = new Map<string, JsonObject>()
  // A range that is in both is denied, there as here.
  for (const [action, ranges] of [['allow', allow] as const, ['deny', deny] as const])
    for (const range of ranges) {
      const cidr = canonicalRange(range)
      if (!cidr.ok) throw new Untranslatable(cidr.problem.msg)
      rules.set(cidr.value, { cidr: cidr.value, action })
    }
  const id = newId('ipp_')
  if (rules.size > 0 || named.length === 0)
    run.account.make(
      'ipPolicy',
      id,
      { description: `restrict-ips of ${owner}` },
      { rules: [...rules.values()] },
    )
  item.change('Its action restrict-ips is the module ip_restriction, which comes before all policies.')
  return {
    enabled: isEnabled && enforce === true,
    ip_policy_ids: rules.size > 0 || named.length === 0 ? [...named, id] : named,
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

function translated(phases: JsonObject, item: Item) {
  const module = { inbound: [] as Policy[], outbound: [] as Policy[] }
  for (const [phase, rules] of Object.entries(phases)) {
    const direction = directions[phase]
    if (direction === undefined) throw new Untranslatable(`Weir has no phase ${phase}.`)
    if (!Array.isArray(rules)) throw new Untranslatable(`${phase} is not a list.`)
    module[direction].push(...rules.map((rule: unknown, index) => policyOf(rule, `${phase}[${index}]`, item)))
  }
  return module
}

interface Policy {
  readonly name?: string
  readonly expressions: readonly string[]
  readonly actions: readonly {
    readonly type: 'deny' | 'log'
    readonly config: Record<string, unknown> | null
  }[]
}

function policyOf(rule: unknown, place: string, item: Item): Policy {
  if (!isObject(rule)) throw new Untranslatable(`${place} is not a map.`)
  const { name, expressions = [], actions, ...others } = rule
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new Untranslatable(`Weir has no "${unknown}" in ${place}.`)
  if (!Array.isArray(expressions) || !expressions.every((each) => typeof each === 'string'))
    throw new Untranslatable(`${place}.expressions is not a list of texts.`)
  if (!Array.isArray(actions) || actions.length === 0) throw new Untranslatable(`${place} has no actions.`)
  return {
    ...(typeof name === 'string' && name !== '' && { name }),
    expressions,
    actions: actions.map((action: unknown) => actionOf(action, place, item)),
  }
}

function actionOf(action: unknown, place: string, item: Item): Policy['actions'][number] {
  const { type, config } = isObject(action) ? action : {}
  const members = isObject(config) ? config : {}
  if (type === 'deny') {
    for (const member of Object.keys(members))
      item.change(`"${member}" of the deny action in ${place} is left out.`)
    return { type, config: null }
  }
  const [name, metadata] = Object.entries(members)[0] ?? []
  const isMetadata = name?.toLowerCase() === 'metadata' && Object.keys(members).length === 1
  if (type === 'log' && isMetadata) return { type, config: { Metadata: metadata } }
  throw new Untranslatable(`Weir has no action ${String(type)} as ${place} has it.`)
}
