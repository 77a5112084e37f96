/** The account that an import describes, before it is written as a file. It holds only what the API would take. */

import { messageOf } from '../../../ground/core/errors.js'
import { isObject, type JsonObject } from '../../../ground/core/json-object.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { type Check, compileCheck } from '../../../ground/core/schema-check.js'
import type { Name } from '../../../words/client/kinds.js'
import { checkTarget } from '../../../words/resource/destination-secrets.js'
import { chosenTarget, type Target } from '../../../words/resource/destination-target.js'
import { bodySchema } from '../../../words/resource/fields/fields.js'
import type { Field, Fields } from '../../../words/resource/kind/define.js'
import type { Live } from '../../as-code/account-state.js'
import { described } from '../../as-code/export.js'
import { givenFields } from '../../as-code/given.js'
import { type Body, type ManagedKind, managedKinds, route, rule } from '../../as-code/managed-kinds.js'
import { variablesIn } from '../../as-code/placeholders.js'
import { replaceSecrets, secretToCome } from '../../as-code/secret-members.js'
import type { Item, Made } from './item.js'

/** A member that is not given out, by its path in the body, besides those that are secrets to Weir. */
export type HiddenMember = readonly string[]

interface Parts {
  /** As the other system, or Weir, shows them. */
  readonly rules?: readonly JsonObject[]
  readonly routes?: readonly JsonObject[]
  readonly entries?: Live['entries']
  /** The address of a reservation. */
  readonly addr?: string
  readonly hidden?: readonly HiddenMember[]
}

interface Draft {
  readonly live: Live
  readonly hidden: readonly HiddenMember[]
}

interface WrittenAccount {
  readonly file: JsonObject
  readonly nameOf: (made: Made) => string
  /** The variables of the environment that an entry names. */
  readonly variablesOf: (id: string) => readonly string[]
}

const kinds = new Map(managedKinds.map((kind) => [kind.name, kind]))

const checks = new Map<Fields, Check>()
const fieldsOf = new Map<Name, Fields>()

export class DraftAccount {
  readonly #drafts = new Map<ManagedKind, Draft[]>()
  readonly #ids = new Set<string>()

  has(id: string): boolean {
    return this.#ids.has(id)
  }

  /** The item becomes this resource, or its line says why not. */
  add(name: Name, item: Item, id: string, body: Body, parts: Parts = {}): boolean {
    const complaint = this.#has(id) ?? complaintAbout(name, body)
    if (complaint !== undefined) {
      item.refuse(complaint)
      return false
    }
    item.become(this.make(name, id, body, parts))
    return true
  }

  /** A resource that comes from more than one item, or from none. */
  make(name: Name, id: string, body: Body, parts: Parts = {}): Made {
    const kind = kinds.get(name)!
    const { rules = [], routes = [], entries, addr, hidden = [] } = parts
    const live: Live = { kind, id, shown: { addr }, body, rules, routes, entries }
    getOrMake(this.#drafts, kind, (): Draft[] => []).push({ live, hidden })
    this.#ids.add(id)
    return { section: kind.section, id }
  }

  /** With the sections that have entries: an empty one would delete, with `--prune`. */
  written(): WrittenAccount {
    const lives = [...this.#drafts].map(([kind, drafts]) => [kind, drafts.map(({ live }) => live)] as const)
    const { sections, nameOf } = described(new Map(lives))
    const variables = new Map<string, readonly string[]>()
    const file = [...sections].flatMap(([section, entries]) => {
      const drafts = this.#drafts.get(managedKinds.find((kind) => kind.section === section)!) ?? []
      const named = drafts.map(({ live: { id }, hidden }, index) => {
        const entry = hidden.reduce((each, path) => withVariable(each, path, section), entries[index]!)
        variables.set(id, variablesIn(entry))
        return entry
      })
      return named.length === 0 ? [] : [[section, named] as const]
    })
    return {
      file: Object.fromEntries(file),
      nameOf: ({ section, id }) => `${section} ${nameOf(id)}`,
      variablesOf: (id) => variables.get(id) ?? [],
    }
  }

  #has(id: string): string | undefined {
    return this.#ids.has(id) ? `The id ${id} was there before.` : undefined
  }
}

/** Names a variable in place of a member. */
function withVariable(entry: JsonObject, path: HiddenMember, section: string): JsonObject {
  const name = [section, String(entry['id']), ...path]
    .join('_')
    .replaceAll(/[^0-9A-Za-z]+/g, '_')
    .toUpperCase()
  const set = (value: JsonObject, [first = '', ...rest]: HiddenMember): JsonObject => ({
    ...value,
    [first]: rest.length === 0 ? `\${env:${name}}` : set(value[first] as JsonObject, rest),
  })
  return set(entry, path)
}

const managedFields = (name: Name): Fields =>
  getOrMake(fieldsOf, name, () => givenFields(kinds.get(name)!.resource))

/** Why the API would refuse a body; it says more when `weir plan` asks it. */
function complaintAbout(name: Name, body: Body): string | undefined {
  const complaint = refusal(managedFields(name), body, kinds.get(name)!.section)
  if (complaint !== undefined || name !== 'eventDestination') return complaint
  try {
    checkTarget(chosenTarget(withStandIns(managedFields(name), body)['target'] as Target))
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

const ruleFields = givenFields(rule, ['ip_policy_id'])
const routeFields = givenFields(route, ['edge_id'])

export const complaintAboutRule = (body: Body): string | undefined => refusal(ruleFields, body, 'rule')
export const complaintAboutRoute = (body: Body): string | undefined => refusal(routeFields, body, 'route')

const refusal = (fields: Fields, body: Body, name: string): string | undefined =>
  getOrMake(checks, fields, () => compileCheck(bodySchema(fields)))(withStandIns(fields, body), name)

const withStandIns = (fields: Fields, body: Body): JsonObject => {
  const given = Object.entries(fields as Readonly<Record<string, Field>>).flatMap(
    ([name, { schema, sealed }]) => {
      const value = body[name]
      if (sealed) return [[name, secretToCome]]
      if (value === undefined) return []
      return [[name, isObject(value) ? replaceSecrets(schema, value, () => secretToCome) : value]]
    },
  )
  const unknown = Object.entries(body).filter(([name]) => !(name in fields))
  return Object.fromEntries([...given, ...unknown]) as JsonObject
}
