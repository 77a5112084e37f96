/**
 * Start here: the difference between what the files want and what the account has, kind by kind: an entry may refer to those
 * of earlier kinds, which have their ids by then. Nothing is written; the API is asked whether two spellings are the same.
 */
import { type JsonObject, mapTexts } from '../../ground/core/json-object.js'
import { ApiError, type Client } from '../../words/client/client.js'
import type { Field, Fields } from '../../words/resource/kind/define.js'
import { type Live, operationsOf } from './account-state.js'
import { withTwinsRefused } from './claimed-twice.js'
import { addressToBe, withAddresses } from './drawn-addresses.js'
import { EntryBodies } from './entry-bodies.js'
import { changesOf, type FieldChange, givenFields, givenOf, writtenMembers } from './given.js'
import { LocalIds } from './local-ids.js'
import { localNames } from './local-names.js'
import { type Body, type ManagedKind, managedKinds } from './managed-kinds.js'
import { PartDifferences, type Parts } from './part-differences.js'
import { missingIn, whyMissing } from './placeholders.js'
import { secretsIn } from './secret-members.js'
import type { Place, SourceFiles } from './source-files.js'
import { type Wanted, wantedOf } from './wanted.js'

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
  /** The members with placeholders as they are written, with secrets hidden: people see these instead of the body's. */
  readonly written: JsonObject
  readonly fields: readonly FieldChange[]
  readonly parts: Parts
  /** Why the API would refuse it now: it may be refused by something that another difference changes. */
  readonly refusal: string | undefined
}

export interface Plan {
  /** In the order of kinds; deletions are last. */
  readonly differences: readonly Difference[]
  /** Resources that no file describes, and that stay. */
  readonly others: readonly { readonly kind: ManagedKind; readonly live: Live; readonly name: string }[]
  readonly unchanged: number
  /** Differences that the API did not check, since the key may not write: another spelling counts as one, too. */
  readonly unchecked: number
  /** Ids of all that the account has. */
  readonly present: ReadonlySet<string>
  /** Members with secrets, of resources that stay. A secret is not shown, so each is sent: the same one changes nothing. */
  readonly secrets: readonly SecretMembers[]
  /** What the files call an id, also one of what is to be made. */
  readonly nameOf: (id: string) => string
  /** What the API says against a difference, as people may see it. */
  readonly refusalOf: (of: Pick<Difference, 'kind' | 'name'>, msg: string) => string
}

interface SecretMembers {
  readonly kind: ManagedKind
  readonly name: string
  readonly id: string
  readonly body: JsonObject
}

interface Options {
  /** Deletes what no file describes, of the sections that the files have. */
  readonly prune?: boolean
  readonly compared?: () => void
}

const fieldsOf = new Map(managedKinds.map((kind) => [kind, givenFields(kind.resource)]))

export class Comparison {
  readonly #client: Client
  readonly #files: SourceFiles
  readonly #names = new LocalIds()
  readonly #bodies: EntryBodies
  readonly #parts: PartDifferences
  readonly #secrets: SecretMembers[] = []
  /** Of entries with differences or secrets, by section and name. */
  readonly #places = new Map<string, Place>()
  #checked = 0
  #unchecked = 0
  /** Addresses of reservations, by the names of these. */
  readonly #addresses = new Map<string, string>()

  constructor(client: Client, files: SourceFiles) {
    this.#client = client
    this.#files = files
    this.#bodies = new EntryBodies(files, this.#names)
    this.#parts = new PartDifferences(this.#bodies, this.#names)
  }

  /** `faults` are lines about the files; the plan is useless then. */
  async plan(
    account: ReadonlyMap<ManagedKind, readonly Live[]>,
    { prune = false, compared }: Options,
  ): Promise<{ readonly plan: Plan; readonly faults: readonly string[] }> {
    const differences: Difference[] = []
    const deletions: Difference[] = []
    const others: Plan['others'][number][] = []
    let unchanged = 0
    for (const kind of managedKinds) {
      const live = account.get(kind) ?? []
      const read = (values: JsonObject): JsonObject => withAddresses(values, this.#addresses)
      const found = wantedOf(kind, this.#files, live, read, this.#bodies.fault)
      this.#nameOthers(kind, live, found.others)
      for (const wanted of found.wanted) {
        const difference = await this.#compare(wanted)
        if (difference === undefined) unchanged += 1
        else differences.push(difference)
        compared?.()
      }
      const names = new Map(localNames(kind, live).map((name, n) => [live[n]!, name]))
      for (const one of found.others) {
        const name = this.#files.concealed.answer(names.get(one)!)
        if (prune && this.#files.entries.has(kind.section)) deletions.push(deletion(kind, name, one))
        else others.push({ kind, live: one, name })
      }
    }
    const plan = {
      differences: withTwinsRefused([...differences, ...deletions], this.#said),
      others,
      unchanged,
      unchecked: this.#unchecked,
      present: new Set([...account.values()].flatMap((all) => all.map(({ id }) => id))),
      secrets: this.#secrets,
      nameOf: (id: string) => this.#names.nameOf(id),
      refusalOf: this.#said,
    }
    return { plan, faults: this.#bodies.faults }
  }

  readonly #said: Plan['refusalOf'] = ({ kind, name }, msg) => {
    const place = this.#places.get(`${kind.section} ${name}`)
    return place === undefined ? this.#files.concealed.answer(msg) : this.#files.refusal(place, msg)
  }

  /** Files may refer to what they don't describe, by its name or its id. */
  #nameOthers(kind: ManagedKind, live: readonly Live[], others: readonly Live[]): void {
    const names = localNames(kind, live)
    const isOther = new Set(others)
    for (const [index, one] of live.entries()) {
      this.#names.add(kind.resource.kind, one.id, one.id)
      if (!isOther.has(one)) continue
      this.#names.add(kind.resource.kind, names[index]!, one.id)
      if (kind.name === 'reservedAddr') this.#addresses.set(names[index]!, String(one.shown['addr']))
    }
  }

  async #compare(wanted: Wanted): Promise<Difference | undefined> {
    const { kind, place, name, shownName, live } = wanted
    this.#places.set(`${kind.section} ${shownName}`, place)
    const fields = fieldsOf.get(kind)!
    const body = this.#bodies.of(kind, fields, wanted)
    if (body === undefined) {
      const id = live?.id ?? this.#names.provisional(kind.resource.idPrefix)
      this.#names.add(kind.resource.kind, name, id, shownName)
      return undefined
    }
    const { changed, refusal } =
      live === undefined
        ? { changed: [], refusal: await this.#refusalOf(kind, body) }
        : await this.#changedFields(kind, fields, body, live)
    const isReplaced = changed.some(({ name: field }) => fields[field]!.setBy === 'client-at-creation')
    const kept = isReplaced ? undefined : live
    const id = kept?.id ?? this.#names.provisional(kind.resource.idPrefix)
    this.#names.add(kind.resource.kind, name, id, shownName)
    if (kind.name === 'reservedAddr')
      this.#addresses.set(name, kept === undefined ? addressToBe(id) : String(kept.shown['addr']))
    const parts = this.#parts.of(wanted, id, kept)
    const action = live === undefined ? 'create' : isReplaced ? 'replace' : 'update'
    if (kept !== undefined) this.#addSecrets(kind, shownName, fields, body, kept.id)
    if (action === 'update' && changed.length === 0 && Object.keys(parts.counts).length === 0)
      return undefined
    const written = writtenMembers(fields, wanted.written)
    const said = refusal === undefined ? undefined : this.#files.refusal(place, refusal)
    const shown = changed.map((each) => this.#shownChange(each, written))
    return {
      action,
      kind,
      name: shownName,
      place,
      id,
      live,
      body,
      written,
      fields: shown,
      parts,
      refusal: said,
    }
  }

  /** What is there may have got what the placeholders stand for, by an apply before. */
  #shownChange({ name, before, after }: FieldChange, written: JsonObject): FieldChange {
    const shown = <T>(value: T): T =>
      this.#files.concealed.answer(mapTexts(value, (text) => this.#names.nameOf(text)))
    return { name, before: shown(before), after: written[name] ?? shown(after) }
  }

  #addSecrets(kind: ManagedKind, name: string, fields: Fields, body: Body, id: string): void {
    const members = Object.entries(fields).filter(([member, field]) => {
      if (field.setBy !== 'client') return false
      const given = secretsIn(field.schema, body[member])
      return (
        given.length > 0 && given.every((each) => typeof each === 'string' && whyMissing(each) === undefined)
      )
    })
    if (members.length > 0)
      this.#secrets.push({
        kind,
        name,
        id,
        body: Object.fromEntries(members.map(([member]) => [member, body[member]])),
      })
  }

  /** What differs; another spelling of the same is none, which the API knows. */
  async #changedFields(kind: ManagedKind, fields: Fields, body: Body, live: Live): Promise<Changed> {
    const changed = changesOf(kind, fields, body, live.body)
    const isSure = changed.every(({ name }) => isRemoved(fields, body, name))
    if (isSure || !this.#isWhole(body)) return { changed, refusal: undefined }
    const isMade = changed.some(({ name }) => fields[name]!.setBy === 'client-at-creation')
    const operations = operationsOf(this.#client, kind)
    const names = changed.map(({ name }) => name)
    const asked = await refusalOr(() =>
      isMade
        ? operations.create(sentBody(body), onlyChecked)
        : operations.update(live.id, changesBody(fields, body, names), onlyChecked),
    )
    if (asked === undefined) this.#unchecked += 1
    if (asked === undefined || typeof asked === 'string') return { changed, refusal: asked }
    const removed = changed.filter(({ name }) => isRemoved(fields, body, name))
    const written = changesOf(kind, fields, givenOf(fields, asked), live.body)
    return { changed: [...written, ...removed], refusal: undefined }
  }

  /** Of something new. Of many, the first ones are checked: each takes as long as a write. */
  async #refusalOf(kind: ManagedKind, body: Body): Promise<string | undefined> {
    if (this.#checked >= checkedMax || !this.#isWhole(body)) return undefined
    this.#checked += 1
    const asked = await refusalOr(() => operationsOf(this.#client, kind).create(sentBody(body), onlyChecked))
    if (asked === undefined) this.#unchecked += 1
    return typeof asked === 'string' ? asked : undefined
  }

  /** Does it name nothing that is to be made, and no secret that is missing? */
  #isWhole(body: Body): boolean {
    return this.#names.provisionalIn(body).length === 0 && [...missingIn(body, '')].length === 0
  }
}

interface Changed {
  readonly changed: readonly FieldChange[]
  readonly refusal: string | undefined
}

const onlyChecked = { validateOnly: true }
const checkedMax = 200
const forbidden = 403

/** The answer of the API, or the sentence with which it refuses the request; undefined if the key may not ask. */
async function refusalOr(ask: () => Promise<JsonObject>): Promise<JsonObject | string | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof ApiError) || error.status_code >= 500 || error.error_code === undefined)
      throw error
    return error.status_code === forbidden ? undefined : error.msg
  }
}

/** The members that change; null clears one. Modules are removed by themselves. */
export const changesBody = (fields: Fields, body: Body, names: readonly string[]): JsonObject =>
  Object.fromEntries(
    names.filter((name) => !isRemoved(fields, body, name)).map((name) => [name, body[name] ?? null]),
  )

/** Is it a module that the resource is not to have? */
export const isRemoved = (fields: Fields, body: Body, name: string): boolean =>
  (fields[name] as Field).fields !== undefined && (body[name] ?? null) === null

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
  written: {},
  fields: [],
  parts: { counts: {} },
  refusal: undefined,
})
