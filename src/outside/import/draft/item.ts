/** A part of what another system answered: each of its members is read, or its line of the report names it. */
import { isObject, type JsonObject } from '../../../ground/core/json-object.js'

export type Outcome = 'taken' | 'changed' | 'not_taken'

export interface ReportLine {
  /** In the input, such as `https_edges[2].routes[0].oauth`. */
  readonly place: string
  /** As the other system calls it. */
  readonly kind: string
  /** Its id or its value there. */
  readonly name: string
  readonly outcome: Outcome
  /** The entry of the file that it became, or became a part of, such as `ip_policies office`. */
  readonly became: string | null
  /** What is different there, or why it was not taken. */
  readonly notes: readonly string[]
}

/** Its id, and what to call the section. */
export interface Made {
  readonly section: string
  readonly id: string
}

const nothing: JsonObject = {}
const nameCharsMax = 200

export class Item {
  readonly kind: string
  readonly place: string
  readonly values: JsonObject
  readonly #read: Set<string>
  readonly #children: Item[] = []
  readonly #changes: string[] = []
  readonly #settled: () => void
  #called: string | undefined
  #made: Made | undefined
  #reason: string | undefined

  /** `meaningless`: members that mean nothing outside of the other system. `settled`: called once its outcome is known. */
  constructor(
    kind: string,
    place: string,
    given: unknown,
    meaningless: readonly string[],
    settled: () => void = () => {},
  ) {
    this.#settled = settled
    this.kind = kind
    this.place = place
    this.values = isObject(given) ? given : nothing
    this.#read = new Set(meaningless)
    if (isObject(given)) return
    this.#reason = 'It is not an object.'
    settled()
  }

  get id(): string {
    return this.text('id') ?? this.place
  }

  get name(): string {
    const { id, name } = this.values
    const text = String([this.#called, id, name].find(isName) ?? this.kind)
    return text.length <= nameCharsMax ? text : `${text.slice(0, nameCharsMax)}…`
  }

  /** What the other system calls it, if not by its id. */
  call(name: unknown): void {
    if (isName(name)) this.#called = String(name)
  }

  get isReadable(): boolean {
    return this.values !== nothing
  }

  get made(): Made | undefined {
    return this.#reason === undefined ? this.#made : undefined
  }

  /** Undefined for a member that says nothing, such as an empty text. */
  get(member: string): unknown {
    this.#read.add(member)
    const value = this.values[member]
    return isUnset(value) ? undefined : value
  }

  /** Undefined for what is no text, too. */
  text(member: string): string | undefined {
    const value = this.get(member)
    return typeof value === 'string' ? value : undefined
  }

  /** The id that a reference names, as `{id, uri}` or alone. */
  reference(member: string): string | undefined {
    return idIn(this.get(member))
  }

  list(member: string): readonly unknown[] {
    const value = this.get(member)
    return Array.isArray(value) ? value : []
  }

  /** A member that is an item by itself; undefined if it is not set. */
  child(member: string, meaningless: readonly string[] = []): Item | undefined {
    const value = this.get(member)
    return value === undefined ? undefined : this.childOf(member, member, value, meaningless)
  }

  childOf(kind: string, path: string, value: unknown, meaningless: readonly string[] = []): Item {
    const child = new Item(kind, `${this.place}.${path}`, value, meaningless)
    this.#children.push(child)
    return child
  }

  get children(): readonly Item[] {
    return this.#children
  }

  become(made: Made): void {
    this.#settle()
    this.#made = made
  }

  change(note: string): void {
    this.#changes.push(note)
  }

  /** A part of it is not taken either, unless that was said before. */
  refuse(reason: string): void {
    this.#settle()
    this.#reason ??= reason
    for (const child of this.#children) child.refuse(`Its ${this.kind} is not taken.`)
  }

  #settle(): void {
    if (this.#made === undefined && this.#reason === undefined) this.#settled()
  }

  /** `nameOf`: the name of an entry in the file. */
  line(nameOf: (made: Made) => string): ReportLine {
    const { place, kind, name } = this
    if (this.#made === undefined && this.#reason === undefined)
      throw new Error(`The importer forgot the ${kind} ${place}.`)
    if (this.#made === undefined || this.#reason !== undefined)
      return { place, kind, name, outcome: 'not_taken', became: null, notes: [this.#reason!] }
    const notes = [...this.#changes, ...this.#unread().map((member) => `"${member}" is left out.`)]
    const outcome = notes.length === 0 ? 'taken' : 'changed'
    return { place, kind, name, outcome, became: nameOf(this.#made), notes }
  }

  /** Members that say something, and that the importer does not know. */
  #unread(): string[] {
    return Object.entries(this.values)
      .filter(([member, value]) => !this.#read.has(member) && !isUnset(value))
      .map(([member]) => member)
  }
}

const isName = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'

const isUnset = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

export function idIn(reference: unknown): string | undefined {
  const id = isObject(reference) ? reference['id'] : reference
  return typeof id === 'string' && id !== '' ? id : undefined
}
