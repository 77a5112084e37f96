/**
 * The difference between what the files want and what the account has, kind by kind: an entry may refer to those of earlier
 * kinds, which have their ids by then. Nothing is written; the API is asked whether two spellings are the same.
 */
import { now } from '../../ground/core/clock.js'
import { shown } from '../../ground/core/errors.js'
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { getOrMake } from '../../ground/core/maps.js'
import { type Check, compileCheck } from '../../ground/core/schema-check.js'
import type { Client } from '../../words/client/client.js'
import { bodySchema, completed } from '../../words/resource/fields/fields.js'
import { isExpiredRule, subjectOfRule } from '../../words/resource/ip-policy.js'
import type { Field, Fields } from '../../words/resource/kind/define.js'
import { type Live, operationsOf } from './account-state.js'
import { comparable, givenFields, givenOf, isEqual } from './given.js'
import { localNames } from './local-names.js'
import { type Body, type ManagedKind, managedKinds, route, rule } from './managed-kinds.js'
import { Names } from './names.js'
import { missingIn, whyMissing } from './placeholders.js'
import { mapExpectation, mapReferences, ruleName } from './references.js'
import { addressToBe, withAddresses } from './reserved-addresses.js'
import { maskedSecrets, replaceSecrets, secretsIn } from './secret-members.js'
import type { Place, SourceFiles } from './source-files.js'
import { listEntryOf, type Wanted, wantedOf } from './wanted.js'

/** A member that differs; secrets are hidden. */
export interface FieldChange {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** Parts of a resource that are written by themselves. */
export interface PartChange {
  readonly added: number
  readonly changed: number
  readonly removed: number
}

/** A rule or a route. */
export interface Part {
  /** Provisional if it is new. */
  readonly id: string
  readonly isNew: boolean
  readonly body: Body
}

/** What is to be written; parts are undefined where they stay. */
export interface Parts {
  /** All rules. */
  readonly rules?: readonly Part[]
  readonly entries?: readonly unknown[]
  /** Those that differ. */
  readonly routes?: readonly Part[]
  readonly routesRemoved?: readonly string[]
  readonly counts: Readonly<Record<string, PartChange>>
}

export interface Difference {
  /** replace: what differs can be set at creation only, so another one is made, and this one deleted in the end. */
  readonly action: 'create' | 'update' | 'replace' | 'delete'
  readonly kind: ManagedKind
  readonly name: string
  readonly place: Place | undefined
  /** Provisional, if it is to be made. */
  readonly id: string
  readonly live: Live | undefined
  readonly body: Body
  readonly fields: readonly FieldChange[]
  readonly parts: Parts
}

export interface Plan {
  /** In the order of kinds; deletions are last, in reverse. */
  readonly differences: readonly Difference[]
  /** Resources that no file describes, and that stay. */
  readonly others: readonly { readonly kind: ManagedKind; readonly live: Live; readonly name: string }[]
  readonly unchanged: number
  readonly names: Names
  /** Members with secrets, of resources that stay. A secret is not shown, so each is sent: the same one changes nothing. */
  readonly secrets: readonly { readonly kind: ManagedKind; readonly id: string; readonly body: JsonObject }[]
}

interface Options {
  /** Deletes what no file describes, of the sections that the files have. */
  readonly prune?: boolean
}

const checks = new Map<Fields, Check>()
const checkOf = (fields: Fields): Check => getOrMake(checks, fields, () => compileCheck(bodySchema(fields)))

const ruleFields = givenFields(rule, ['ip_policy_id'])
const routeFields = givenFields(route, ['edge_id'])
const fieldsOf = new Map(managedKinds.map((kind) => [kind, givenFields(kind.resource)]))

export class Comparison {
  readonly #client: Client
  readonly #files: SourceFiles
  readonly #names = new Names()
  readonly #faults: string[] = []
  readonly #secrets: Plan['secrets'][number][] = []
  /** Of reservations, by their names. */
  readonly #addresses = new Map<string, string>()

  constructor(client: Client, files: SourceFiles) {
    this.#client = client
    this.#files = files
  }

  /** `faults` are lines about the files; the plan is useless then. */
  async plan(
    account: ReadonlyMap<ManagedKind, readonly Live[]>,
    { prune = false }: Options,
  ): Promise<{ readonly plan: Plan; readonly faults: readonly string[] }> {
    const differences: Difference[] = []
    const deletions: Difference[] = []
    const others: Plan['others'][number][] = []
    let unchanged = 0
    for (const kind of managedKinds) {
      const live = account.get(kind) ?? []
      const read = (values: JsonObject): JsonObject => withAddresses(values, this.#addresses)
      const found = wantedOf(kind, this.#files, live, read, (place, msg) => this.#fault(place, msg))
      this.#nameOthers(kind, live, found.others)
      for (const wanted of found.wanted) {
        const difference = await this.#compare(wanted)
        if (difference === undefined) unchanged += 1
        else differences.push(difference)
      }
      const names = new Map(localNames(kind, live).map((name, n) => [live[n]!, name]))
      for (const one of found.others) {
        const name = names.get(one)!
        if (prune && this.#files.entries.has(kind.section)) deletions.push(deletion(kind, name, one))
        else others.push({ kind, live: one, name })
      }
    }
    const plan = {
      differences: [...differences, ...deletions.reverse()],
      others,
      unchanged,
      names: this.#names,
      secrets: this.#secrets,
    }
    return { plan, faults: this.#faults }
  }

  #fault(place: Place, msg: string): void {
    this.#faults.push(this.#files.fault(place, msg))
  }

  /** Files may refer to what they don't describe, by its name or its id. */
  #nameOthers(kind: ManagedKind, live: readonly Live[], others: readonly Live[]): void {
    const names = localNames(kind, live)
    for (const [index, one] of live.entries()) {
      this.#names.add(kind.resource.kind, one.id, one.id)
      if (others.includes(one)) this.#names.add(kind.resource.kind, names[index]!, one.id)
    }
  }

  async #compare(wanted: Wanted): Promise<Difference | undefined> {
    const { kind, place, name, live } = wanted
    const fields = fieldsOf.get(kind)!
    const body = this.#body(kind, fields, wanted)
    if (body === undefined) {
      this.#names.add(kind.resource.kind, name, live?.id ?? this.#names.provisional(kind.resource.idPrefix))
      return undefined
    }
    const changed = live === undefined ? [] : await this.#changedFields(kind, fields, body, live)
    const isReplaced = changed.some(({ name: field }) => fields[field]!.setBy === 'client-at-creation')
    const kept = isReplaced ? undefined : live
    const id = kept?.id ?? this.#names.provisional(kind.resource.idPrefix)
    this.#names.add(kind.resource.kind, name, id)
    if (kind.name === 'reservedAddr')
      this.#addresses.set(name, kept === undefined ? addressToBe(id) : String(kept.shown['addr']))
    const parts = this.#parts(wanted, id, kept)
    const action = live === undefined ? 'create' : isReplaced ? 'replace' : 'update'
    if (kept !== undefined) this.#addSecrets(kind, fields, body, kept.id)
    if (action === 'update' && changed.length === 0 && Object.keys(parts.counts).length === 0)
      return undefined
    return { action, kind, name, place, id, live, body, fields: changed, parts }
  }

  /** Its body with ids, and every member; undefined if it is wrong. */
  #body(kind: ManagedKind, fields: Fields, { place, values }: Wanted): Body | undefined {
    const faultsBefore = this.#faults.length
    const at = (path: string): Place => ({ ...place, path })
    const given: Record<string, unknown> = {
      ...mapReferences(fields, values, (of, text, path) => this.#id([of], text, at(path)), place.path),
    }
    if (kind.name === 'policyTest')
      given['expect'] = mapExpectation(
        given['expect'],
        (kinds, text, path) => this.#id(kinds, text, at(path)),
        `${place.path}.expect`,
      )
    if (this.#faults.length > faultsBefore) return undefined
    return this.#checked(fields, given, place)
  }

  #addSecrets(kind: ManagedKind, fields: Fields, body: Body, id: string): void {
    const members = Object.entries(fields).filter(([name, field]) => {
      if (field.setBy !== 'client') return false
      const given = secretsIn(field.schema, body[name])
      return (
        given.length > 0 && given.every((each) => typeof each === 'string' && whyMissing(each) === undefined)
      )
    })
    if (members.length > 0)
      this.#secrets.push({ kind, id, body: Object.fromEntries(members.map(([name]) => [name, body[name]])) })
  }

  /** Texts that are missing may be secrets only: what is made needs them, what is there keeps them. */
  #checked(fields: Fields, given: JsonObject, place: Place): Body | undefined {
    const shownParts = Object.entries(given).map(([name, value]) => {
      const field = fields[name] as Field | undefined
      const isHidden = field === undefined || field.shown === 'hidden'
      return [name, isHidden ? null : maskedSecrets(field.schema, value)] as const
    })
    const missing = [...missingIn(Object.fromEntries(shownParts), place.path)]
    for (const { place: path, why } of missing) this.#fault({ ...place, path }, `"${path}": ${why}.`)
    if (missing.length > 0) return undefined
    const complaint = checkOf(fields)(withStandIns(fields, given), place.path)
    if (complaint === undefined) return completed(fields, given)
    const [, path = place.path] = /^"([^"]+)"/.exec(complaint) ?? []
    this.#fault({ ...place, path }, complaint)
    return undefined
  }

  #id(kinds: readonly string[], text: string, place: Place): string {
    const found = this.#names.find(kinds, text)
    if ('id' in found) return found.id
    this.#fault(place, `"${place.path}": ${found.msg}`)
    return text
  }

  async #changedFields(kind: ManagedKind, fields: Fields, body: Body, live: Live): Promise<FieldChange[]> {
    const changed = changesOf(kind, fields, body, live.body)
    if (changed.length === 0 || this.#names.provisionalIn(body).length > 0) return changed
    // Another spelling of the same is none: the API knows.
    const isMade = changed.some(({ name }) => fields[name]!.setBy === 'client-at-creation')
    const operations = operationsOf(this.#client, kind)
    try {
      const shownThen = isMade
        ? await operations.create(sentBody(body), { validateOnly: true })
        : await operations.update(live.id, changesBody(body, changed), { validateOnly: true })
      return changesOf(kind, fields, givenOf(fields, shownThen), live.body)
    } catch {
      // It says so when it is applied, or when it is checked for its own sake.
      return changed
    }
  }

  #parts({ kind, place, parts, name }: Wanted, id: string, live: Live | undefined): Parts {
    if (kind.name === 'ipPolicy') return this.#rules(place, parts['rules'], id, live)
    if (kind.name === 'httpsEdge') return this.#routes(place, parts['routes'], name, live)
    if (kind.name === 'ipList') return this.#entries(place, parts['entries'], live)
    return { counts: {} }
  }

  #rules(place: Place, given: unknown, policyId: string, live: Live | undefined): Parts {
    const wanted = this.#list(place, 'rules', given, ruleFields)
    const nowMs = now()
    const before = (live?.rules ?? []).filter((each) => !isExpiredRule(each as never, nowMs))
    const known = new Map(before.map((each) => [subjectOfRule(givenOf(ruleFields, each) as never), each]))
    const rules: Part[] = []
    let [added, changed] = [0, 0]
    for (const body of wanted) {
      if (isExpiredRule(body as never, nowMs)) continue
      const subject = subjectOfRule(body as never)
      const one = known.get(subject)
      known.delete(subject)
      const id = one === undefined ? this.#names.provisional(rule.idPrefix) : String(one['id'])
      const name = body['list_id'] === null ? subject : this.#names.nameOf(subject)
      for (const each of [name, ruleName(policyId, name)]) this.#names.add(rule.kind, each, id)
      if (one === undefined) added += 1
      else if (!isSame(ruleFields, body, one)) changed += 1
      rules.push({ id, isNew: one === undefined, body })
    }
    return partsOf('rules', { rules }, { added, changed, removed: known.size })
  }

  #routes(place: Place, given: unknown, edgeName: string, live: Live | undefined): Parts {
    const wanted = this.#list(place, 'routes', given, routeFields)
    const known = new Map((live?.routes ?? []).map((each) => [matchOf(givenOf(routeFields, each)), each]))
    const routes: Part[] = []
    let [added, changed] = [0, 0]
    for (const body of wanted) {
      const match = matchOf(body)
      const one = known.get(match)
      known.delete(match)
      const id = one === undefined ? this.#names.provisional(route.idPrefix) : String(one['id'])
      this.#names.add(route.kind, `${edgeName}${match}`, id)
      if (one !== undefined && isSame(routeFields, body, one)) continue
      if (one === undefined) added += 1
      else changed += 1
      routes.push({ id, isNew: one === undefined, body })
    }
    const routesRemoved = [...known.values()].map((each) => String(each['id']))
    return partsOf('routes', { routes, routesRemoved }, { added, changed, removed: known.size })
  }

  #entries(place: Place, given: unknown, live: Live | undefined): Parts {
    if (given === undefined) return { counts: {} }
    if (!Array.isArray(given)) {
      this.#fault({ ...place, path: `${place.path}.entries` }, `"${place.path}.entries" must be a list.`)
      return { counts: {} }
    }
    const entries = given.map(listEntryOf)
    const before = (live?.entries ?? []).map(listEntryOf)
    if (isEqual(entries, before)) return { counts: {} }
    const [textsBefore, texts] = [before, entries].map(
      (all) => new Set(all.map((each) => JSON.stringify(each))),
    )
    const added = [...texts!].filter((each) => !textsBefore!.has(each)).length
    const removed = [...textsBefore!].filter((each) => !texts!.has(each)).length
    return { entries, counts: { entries: { added, changed: 0, removed } } }
  }

  #list(place: Place, name: string, given: unknown, fields: Fields): Body[] {
    const path = `${place.path}.${name}`
    if (given === undefined || given === null) return []
    if (!Array.isArray(given)) {
      this.#fault({ ...place, path }, `"${path}" must be a list.`)
      return []
    }
    return given.flatMap((each: unknown, index): Body[] => {
      const at = { ...place, path: `${path}[${index}]` }
      if (!isObject(each)) {
        this.#fault(at, `${shown(each)} must be a map.`)
        return []
      }
      const { id: _name, uri: _uri, created_at: _createdAt, ...values } = each
      const replace = (kind: string, text: string, where: string) =>
        this.#id([kind], text, { ...place, path: where })
      const body = this.#checked(fields, mapReferences(fields, values, replace, at.path), at)
      return body === undefined ? [] : [body]
    })
  }
}

function partsOf(name: string, parts: Omit<Parts, 'counts'>, counts: PartChange): Parts {
  const { added, changed, removed } = counts
  return added + changed + removed === 0 ? { counts: {} } : { ...parts, counts: { [name]: counts } }
}

/** A copy with other texts for secrets that are missing. */
const withStandIns = (fields: Fields, given: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const field = fields[name]
      const standIn = (secret: unknown) => (whyMissing(secret) === undefined ? secret : 'missing')
      return [name, field === undefined ? value : replaceSecrets(field.schema, value, standIn)]
    }),
  )

const isSame = (fields: Fields, body: Body, shownPart: JsonObject): boolean =>
  isEqual(comparable(fields, body), comparable(fields, givenOf(fields, shownPart)))

const matchOf = ({ match_type, match }: Body): string =>
  `${String(match)}${match_type === 'path_prefix' ? '*' : ''}`

function changesOf(kind: ManagedKind, fields: Fields, wanted: Body, present: Body): FieldChange[] {
  const [after, before] = [comparable(fields, wanted), comparable(fields, present)]
  return Object.entries(fields).flatMap(([name, field]) => {
    if ((field as Field).shown === 'hidden' || kind.once.includes(name)) return []
    const isUnsaid = kind.filledIn.includes(name) && isEmpty(after[name])
    if (isUnsaid || isEqual(after[name], before[name])) return []
    return [{ name, before: before[name] ?? null, after: after[name] ?? null }]
  })
}

const isEmpty = (value: unknown): boolean =>
  (value ?? null) === null || (isObject(value) && Object.keys(value).length === 0) || isEqual(value, [])

/** The members that change; null clears one. */
export const changesBody = (body: Body, changed: readonly FieldChange[]): JsonObject =>
  Object.fromEntries(changed.map(({ name }) => [name, body[name] ?? null]))

/** Without what is unset. */
export const sentBody = (body: Body): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => (value ?? null) !== null))

const deletion = (kind: ManagedKind, name: string, live: Live): Difference => ({
  action: 'delete',
  kind,
  name,
  place: undefined,
  id: live.id,
  live,
  body: live.body,
  fields: [],
  parts: { counts: {} },
})
