/** The bodies that entries of files describe: with ids in place of names, checked as the API checks them. */
import { shown } from '../../ground/core/errors.js'
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { getOrMake } from '../../ground/core/maps.js'
import { type Check, compileCheck } from '../../ground/core/schema-check.js'
import { bodySchema, completed } from '../../words/resource/fields/fields.js'
import type { Field, Fields } from '../../words/resource/kind/define.js'
import type { LocalIds } from './local-ids.js'
import type { Body, ManagedKind } from './managed-kinds.js'
import { missingIn, whyMissing } from './placeholders.js'
import { mapExpectation, mapReferences } from './references.js'
import { maskedSecrets, replaceSecrets, secretToCome } from './secret-members.js'
import type { Place, SourceFiles } from './source-files.js'
import type { Wanted } from './wanted.js'

const checks = new Map<Fields, Check>()
const checkOf = (fields: Fields): Check => getOrMake(checks, fields, () => compileCheck(bodySchema(fields)))

export class EntryBodies {
  readonly #files: SourceFiles
  readonly #names: LocalIds
  readonly #faults: string[] = []

  constructor(files: SourceFiles, names: LocalIds) {
    this.#files = files
    this.#names = names
  }

  /** A line for each, with its place. */
  get faults(): readonly string[] {
    return this.#faults
  }

  readonly fault = (place: Place, msg: string): void => {
    this.#faults.push(this.#files.fault(place, msg))
  }

  /** Its body with ids, and every member; undefined if it is wrong. */
  of(kind: ManagedKind, fields: Fields, { place, values }: Wanted): Body | undefined {
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
    return this.#checked(fields, withoutLastBreaks(fields, given), place)
  }

  listOf(place: Place, name: string, given: unknown, fields: Fields): Body[] {
    const path = `${place.path}.${name}`
    if (given === undefined || given === null) return []
    if (!Array.isArray(given)) {
      this.fault({ ...place, path }, `"${path}" must be a list.`)
      return []
    }
    return given.flatMap((each: unknown, index): Body[] => {
      const at = { ...place, path: `${path}[${index}]` }
      if (!isObject(each)) {
        this.fault(at, `${shown(each)} must be a map.`)
        return []
      }
      const { id: _name, uri: _uri, created_at: _createdAt, ...values } = each
      const replace = (kind: string, text: string, where: string) =>
        this.#id([kind], text, { ...place, path: where })
      const body = this.#checked(fields, mapReferences(fields, values, replace, at.path), at)
      return body === undefined ? [] : [body]
    })
  }

  /** Texts that are missing may be secrets only: what is made needs them, what is there keeps them. */
  #checked(fields: Fields, given: JsonObject, place: Place): Body | undefined {
    const shownParts = Object.entries(given).map(([name, value]) => {
      const field = fields[name] as Field | undefined
      const isHidden = field === undefined || field.shown === 'hidden'
      return [name, isHidden ? null : maskedSecrets(field.schema, value)] as const
    })
    const missing = [...missingIn(Object.fromEntries(shownParts), place.path)]
    for (const { place: path, why } of missing) this.fault({ ...place, path }, `"${path}": ${why}.`)
    if (missing.length > 0) return undefined
    const complaint = checkOf(fields)(withStandIns(fields, given), place.path)
    if (complaint === undefined) return completed(fields, given)
    const [, path = place.path] = /^"([^"]+)"/.exec(complaint) ?? []
    this.fault({ ...place, path }, complaint)
    return undefined
  }

  #id(kinds: readonly string[], text: string, place: Place): string {
    const found = this.#names.find(kinds, text)
    if ('id' in found) return found.id
    this.fault(place, `"${place.path}": ${found.msg}`)
    return text
  }
}

/** A copy with other texts for secrets that are missing. */
const withStandIns = (fields: Fields, given: JsonObject): JsonObject =>
  withSecrets(fields, given, (secret) => (whyMissing(secret) === undefined ? secret : secretToCome))

/**
 * Editors leave a line break at the end of a file, which is no part of a secret, as for settings in files. Certificates keep
 * theirs: the API shows it, and a plan with a key that may only read can't ask whether another spelling is the same.
 */
const withoutLastBreaks = (fields: Fields, given: JsonObject): JsonObject =>
  withSecrets(fields, given, (secret) => (typeof secret === 'string' ? secret.replace(/\r?\n$/, '') : secret))

const withSecrets = (fields: Fields, given: JsonObject, other: (secret: unknown) => unknown): JsonObject =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const field = fields[name]
      return [name, field === undefined ? value : replaceSecrets(field.schema, value, other)]
    }),
  )
