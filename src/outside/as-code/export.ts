/** An account as a file that describes it: names instead of ids, secrets by the names of variables, no defaults. */
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { writeYaml } from '../../ground/core/text/yaml.js'
import type { Field, Fields } from '../../words/resource/kind/define.js'
import type { Live } from './account-state.js'
import { namedAddresses } from './drawn-addresses.js'
import { givenFields, givenOf, isEqual } from './given.js'
import { LocalIds } from './local-ids.js'
import { localNames } from './local-names.js'
import { type Body, type ManagedKind, managedKinds, route, rule } from './managed-kinds.js'
import { escaped } from './placeholders.js'
import { mapExpectation, mapReferences, matchOf } from './references.js'
import { replaceSecrets } from './secret-members.js'

/** The entries of a file by their sections, and the name that each resource has in them. */
interface Described {
  readonly sections: ReadonlyMap<string, readonly JsonObject[]>
  readonly nameOf: (id: string) => string
}

/** `json`: as JSON, which is YAML, too. */
export const exported = (account: ReadonlyMap<ManagedKind, readonly Live[]>, json = false): string =>
  written(Object.fromEntries(described(account).sections), json)

export const written = (file: JsonObject, json = false): string =>
  json ? `${JSON.stringify(file, undefined, 2)}\n` : writeYaml(file)

export function described(account: ReadonlyMap<ManagedKind, readonly Live[]>): Described {
  const names = new LocalIds()
  const addresses = new Map<string, string>()
  for (const kind of managedKinds) {
    const all = account.get(kind) ?? []
    for (const [index, name] of localNames(kind, all).entries()) {
      const { id, shown, routes, rules } = all[index]!
      names.add(kind.resource.kind, name, id)
      if (kind.name === 'reservedAddr') addresses.set(String(shown['addr']), name)
      for (const each of routes) names.add(route.kind, `${name}${matchOf(each)}`, String(each['id']))
      for (const each of rules) names.add(rule.kind, subjectOf(each, names), String(each['id']))
    }
  }
  const writer = new EntryWriter(names, addresses)
  const sections = managedKinds.map((kind) => {
    const all = account.get(kind) ?? []
    return [kind.section, all.map((live) => writer.entry(kind, live))] as const
  })
  return { sections: new Map(sections), nameOf: (id) => names.nameOf(id) }
}

const subjectOf = ({ cidr, list }: JsonObject, names: LocalIds): string =>
  cidr === null ? names.nameOf(String((list as JsonObject)['id'])) : String(cidr)

class EntryWriter {
  readonly #names: LocalIds
  readonly #addresses: ReadonlyMap<string, string>
  readonly #variables = new Set<string>()

  constructor(names: LocalIds, addresses: ReadonlyMap<string, string>) {
    this.#names = names
    this.#addresses = addresses
  }

  entry(kind: ManagedKind, live: Live): JsonObject {
    const name = this.#names.nameOf(live.id)
    const fields = givenFields(kind.resource)
    const said = Object.fromEntries(
      Object.entries(live.body).filter(([member]) => !kind.once.includes(member)),
    )
    const own = this.#values(fields, said, [kind.section, name])
    if (kind.name === 'policyTest') own['expect'] = this.#expectation(own['expect'])
    return {
      id: name,
      ...namedAddresses(own, this.#addresses),
      ...(live.rules.length > 0 && { rules: this.#parts(givenFields(rule, ['ip_policy_id']), live.rules) }),
      ...(live.routes.length > 0 && { routes: this.#parts(givenFields(route, ['edge_id']), live.routes) }),
      ...(live.entries !== undefined &&
        live.entries.length > 0 && {
          entries: asText(live.entries.map(briefEntry)),
        }),
    }
  }

  #parts(fields: Fields, shown: readonly JsonObject[]): JsonObject[] {
    return shown.map((each) => this.#values(fields, givenOf(fields, each), []))
  }

  /** Names that differ by other signs alone get a number. */
  #variable(path: readonly string[]): Variable {
    const own = path
      .join('_')
      .replaceAll(/[^0-9A-Za-z]+/g, '_')
      .toUpperCase()
    let name = own
    for (let n = 2; this.#variables.has(name); n += 1) name = `${own}_${n}`
    this.#variables.add(name)
    return new Variable(name)
  }

  #expectation(expect: unknown): unknown {
    // A rule comes as its policy and its id.
    return mapExpectation(expect, (_kinds, id) => escaped(this.#names.nameOf(id.split(' ').at(-1)!)), '')
  }

  /** `path`: of names, for those of variables. */
  #values(fields: Fields, body: Body, path: readonly string[]): Record<string, unknown> {
    const named = mapReferences(fields, brief(fields, body), (_kind, id) => this.#names.nameOf(id), '')
    return Object.fromEntries(
      Object.entries(named).map(([name, value]) => {
        const field = fields[name] as Field | undefined
        const secret = (_: unknown, at: readonly string[]) => this.#variable([...path, name, ...at])
        const shown = field?.sealed ? secret(null, []) : replaceSecrets(field?.schema ?? {}, value, secret)
        return [name, asText(shown)]
      }),
    )
  }
}

/** Names the environment variable of a secret. */
class Variable {
  readonly text: string

  constructor(name: string) {
    this.text = `\${env:${name}}`
  }
}

/** Without members that have their defaults. A secret is null, and stays. */
function brief(fields: Fields, body: Body): JsonObject {
  const kept = Object.entries(fields as Readonly<Record<string, Field>>).flatMap(([name, field]) => {
    const value = body[name]
    if (field.sealed) return [[name, null]]
    if ((value ?? null) === null || isEqual(value, field.fallback ?? null)) return []
    return [[name, field.fields === undefined ? value : brief(field.fields, value as JsonObject)]]
  })
  return Object.fromEntries(kept) as JsonObject
}

/** Without nulls and empty parts, and with `${` as files have it. */
function asText(value: unknown): unknown {
  if (value instanceof Variable) return value.text
  if (typeof value === 'string') return escaped(value)
  if (Array.isArray(value)) return value.map(asText)
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([, member]) => (member ?? null) !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, asText(member)]))
}

const briefEntry = ({ cidr, comment, expires_at }: NonNullable<Live['entries']>[number]): unknown =>
  comment === null && expires_at === null
    ? cidr
    : { cidr, ...(comment !== null && { comment }), ...(expires_at !== null && { expires_at }) }
