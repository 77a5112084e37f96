/** A draft of the traffic policies of an edge or a route: as a form edits it, as it is sent, and as it survives a reload. */
import { ApiError } from '../../../../words/client/api-error.js'
import { act } from '../asking/api.js'
import { type Place, type PoliciesModule, presentPolicies } from '../resources/edges.js'
import { textOf } from '../texts/format.js'
import { beginDraft } from './kept-draft.js'

export interface DraftAction {
  readonly type: 'deny' | 'log'
  /** The metadata of the event of a log action, as JSON. */
  readonly metadata: string
}

export interface DraftPolicy {
  /** For the form alone: it stays while policies are moved. */
  readonly key: number
  readonly name: string
  readonly expressions: readonly string[]
  readonly actions: readonly DraftAction[]
  /** Missing in a draft that an earlier version kept: then it is. */
  readonly isEnforced?: boolean
}

export const sides = ['inbound', 'outbound'] as const
export type Side = (typeof sides)[number]

export interface Draft {
  readonly isEnabled: boolean
  readonly inbound: readonly DraftPolicy[]
  readonly outbound: readonly DraftPolicy[]
}

export type ShownPolicy = PoliciesModule['inbound'][number]

/** The body of the module, as it is sent. */
export interface DraftBody {
  readonly enabled: boolean
  readonly inbound: readonly ShownPolicy[]
  readonly outbound: readonly ShownPolicy[]
}

const metadataOf = (config: ShownPolicy['actions'][number]['config']): string => {
  const [metadata] = Object.values(config ?? {})
  return metadata === undefined ? '{}' : JSON.stringify(metadata, null, 2)
}

/** A draft that changes nothing yet. */
export function draftOf(module: DraftBody | null): Draft {
  const policies = (list: readonly ShownPolicy[], keysFrom: number): DraftPolicy[] =>
    list.map(({ name = '', expressions, actions, enforced = true }, index) => ({
      key: keysFrom + index,
      name,
      expressions,
      actions: actions.map(({ type, config }) => ({ type, metadata: metadataOf(config) })),
      isEnforced: enforced,
    }))
  return {
    isEnabled: module?.enabled ?? true,
    inbound: policies(module?.inbound ?? [], 0),
    outbound: policies(module?.outbound ?? [], module?.inbound.length ?? 0),
  }
}

const keyMax = ({ inbound, outbound }: Draft): number =>
  Math.max(0, ...[...inbound, ...outbound].map(({ key }) => key))

/** A policy to begin with. */
export const newPolicy = (draft: Draft, side: Side): DraftPolicy => ({
  key: keyMax(draft) + 1,
  name: '',
  expressions: [''],
  actions: [side === 'inbound' ? { type: 'deny', metadata: '{}' } : { type: 'log', metadata: '{}' }],
})

/** Faults by their places in the body, such as `inbound[0].expressions[1]`; an empty place: of the whole. */
export type Faults = ReadonlyMap<string, string>

export const noFaults: Faults = new Map()

/** The body that a draft makes, and what is not JSON in it. */
export function bodyOf({ isEnabled, inbound, outbound }: Draft): {
  readonly body: DraftBody
  readonly faults: Faults
} {
  const faults = new Map<string, string>()
  const actionOf = ({ type, metadata }: DraftAction, place: string): ShownPolicy['actions'][number] => {
    if (type === 'deny') return { type, config: null }
    try {
      return { type, config: { Metadata: JSON.parse(metadata) } }
    } catch (error) {
      faults.set(
        `${place}.config.Metadata`,
        `This is not JSON: ${error instanceof Error ? error.message : error}.`,
      )
      return { type, config: { Metadata: {} } }
    }
  }
  const policiesOf = (list: readonly DraftPolicy[], side: Side): ShownPolicy[] =>
    list.map(({ name, expressions, actions, isEnforced = true }, index) => ({
      ...(name === '' ? {} : { name }),
      expressions: [...expressions],
      actions: actions.map((action, at) => actionOf(action, `${side}[${index}].actions[${at}]`)),
      enforced: isEnforced,
    }))
  const body = {
    enabled: isEnabled,
    inbound: policiesOf(inbound, 'inbound'),
    outbound: policiesOf(outbound, 'outbound'),
  }
  return { body, faults }
}

/** The faults that the API found, by their places. */
export function faultsIn(error: unknown): Faults {
  if (!(error instanceof ApiError)) return new Map([['', textOf(String(error))]])
  const { operation_id: _, ...places } = error.details
  const entries = Object.entries(places).filter(([name]) => isPlace(name))
  if (entries.length > 0) return new Map(entries.map(([place, text]) => [place, sentence(place, text)]))
  const place = /^"([^"]+)"/.exec(error.msg)?.[1] ?? ''
  return new Map([isPlace(place) ? [place, sentence(place, error.msg)] : ['', error.msg]])
}

const isPlace = (text: string): boolean => /^(inbound|outbound)\[\d+\]/.test(text)

/** The sentence without the place, which is where it is shown. It may begin with a name, which stays as it was typed. */
const sentence = (place: string, text: string): string =>
  text.replace(`"${place}" is not a valid expression: `, '')

/** Those of faults that are at a place, or below it. */
export const faultsBelow = (faults: Faults, place: string): readonly (readonly [string, string])[] =>
  [...faults].filter(
    ([each]) => each === place || each.startsWith(`${place}.`) || each.startsWith(`${place}[`),
  )

/** The place in an expression that a sentence names, in characters from 0. */
export const offsetIn = (text: string): number | undefined => {
  const position = / at character (\d+)/.exec(text)?.[1]
  return position === undefined ? undefined : Number(position) - 1
}

/** How one version differs from another, a line for each policy. */
export const differences = (was: DraftBody, is: DraftBody): readonly string[] => [
  ...(was.enabled === is.enabled
    ? []
    : [is.enabled ? 'the module is switched on' : 'the module is switched off']),
  ...sides.flatMap((side) => sideDifferences(side, was[side], is[side])),
]

/** The same of one side: `inbound: “no scanners” is changed`. */
export function sideDifferences(
  side: Side,
  was: readonly ShownPolicy[],
  is: readonly ShownPolicy[],
): readonly string[] {
  const lines: string[] = []
  const [old, next] = [namesOf(was), namesOf(is)]
  for (const [name, policy] of next) {
    const before = old.get(name)
    if (before === undefined) lines.push(`${side}: ${name} is added`)
    else lines.push(...changesOf(before, policy).map((change) => `${side}: ${name} is ${change}`))
  }
  for (const name of old.keys()) if (!next.has(name)) lines.push(`${side}: ${name} is removed`)
  const common = [...next.keys()].filter((name) => old.has(name))
  const order = [...old.keys()].filter((name) => next.has(name))
  if (common.join('\n') !== order.join('\n')) lines.push(`${side}: the order is changed`)
  return lines
}

export const isJsonEqual = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

function changesOf(
  { enforced: wasEnforced, ...before }: ShownPolicy,
  { enforced, ...after }: ShownPolicy,
): readonly string[] {
  const isChanged = !isJsonEqual(before, after)
  return [
    ...(isChanged ? ['changed'] : []),
    ...(wasEnforced === enforced ? [] : [enforced ? 'enforced from now on' : 'no longer enforced']),
  ]
}

/** Policies by their names; those without one by their place. */
export function namesOf(policies: readonly ShownPolicy[]): Map<string, ShownPolicy> {
  const named = new Map<string, ShownPolicy>()
  for (const [index, policy] of policies.entries()) {
    const name = policy.name === undefined ? `policy ${index + 1}` : `“${policy.name}”`
    named.set(named.has(name) ? `${name} (${index + 1})` : name, policy)
  }
  return named
}

/** The id under which a draft of the policies at a place is kept. */
export const policiesDraftId = ({ edgeId, routeId }: Place): string => routeId ?? edgeId

/** Begins a draft for the editor; true if it went well. `body`: the module, as the API takes it. */
export const beginPoliciesDraft = (place: Place, body: object): Promise<boolean> =>
  act('This is a draft: nothing is saved yet.', async (client) => {
    const present = draftOf(await presentPolicies(client, place))
    beginDraft(policiesDraftId(place), present, draftOf(body as DraftBody))
  })
