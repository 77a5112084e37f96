/** What an importer works on: the account that it describes, and an item for each part of the input. */
import { StartFault } from '../../../ground/core/errors.js'
import type { JsonObject } from '../../../ground/core/json-object.js'
import { DraftAccount } from './draft-account.js'
import { Item, type ReportLine } from './item.js'

/** As many as the largest IP list has entries. */
const itemsMax = 1_000_000

export interface ImportOptions {
  /** The time of the answer, which durations in it count from. */
  readonly atMs: number
  /** Is the present time, unless a test says another one. */
  readonly nowMs: number
  /** The account at AWS of targets that are named without it. */
  readonly awsAccount?: string | undefined
  /** Called with how many items became something, or are refused, of those that are known. */
  readonly progressed?: (items: number, of: number) => void
}

export interface Imported {
  /** For `weir plan`. */
  readonly file: JsonObject
  readonly report: readonly ReportLine[]
  /** What is true of more than one item. */
  readonly remarks: readonly string[]
}

export class ImportRun {
  readonly account = new DraftAccount()
  /** Ids of reservations, by the addresses that they had. */
  readonly reservedAddresses = new Map<string, string>()
  readonly options: ImportOptions
  readonly #items: Item[] = []
  readonly #remarks = new Set<string>()
  #settled = 0

  constructor(options: ImportOptions) {
    this.options = options
  }

  remark(sentence: string): void {
    this.#remarks.add(sentence)
  }

  item(kind: string, place: string, value: unknown, meaningless: readonly string[] = []): Item {
    if (this.#items.length >= itemsMax)
      throw new StartFault(`The input has more than ${itemsMax} items: import a part of it at a time.`)
    const item = new Item(kind, place, value, meaningless, () => {
      this.#settled += 1
      this.options.progressed?.(this.#settled, this.#items.length)
    })
    this.#items.push(item)
    return item
  }

  /** Those of a list that are objects; the others have their line already. */
  items(kind: string, place: string, list: readonly unknown[], meaningless: readonly string[] = []): Item[] {
    return list
      .map((value, index) => this.item(kind, `${place}[${index}]`, value, meaningless))
      .filter(({ isReadable }) => isReadable)
  }

  /** A line for each item, in the order of the input. */
  finish(): Imported {
    const { file, nameOf, variablesOf } = this.account.written()
    const all = this.#items.flatMap(withChildren)
    for (const item of this.#items) {
      const variables = item.made === undefined ? [] : variablesOf(item.made.id)
      if (variables.length > 0 && item.made?.id === item.id)
        item.change(`It needs what is not given out: set ${variables.join(', ')}.`)
    }
    return { file, report: all.map((item) => item.line(nameOf)), remarks: [...this.#remarks] }
  }
}

const withChildren = (item: Item): Item[] => [item, ...item.children.flatMap(withChildren)]
