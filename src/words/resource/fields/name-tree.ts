/**
 * Claims of names in a tree of labels, `com` above `example` above `shop`: finds those that overlap without looking at all.
 */
import { getOrMake } from '../../../ground/core/maps.js'
import { type ClaimedNames, overlap } from './claimed-names.js'

interface Node<T> {
  readonly below: Map<string, Node<T>>
  readonly values: Map<string, Placed<T>>
}

interface Placed<T> {
  readonly names: ClaimedNames
  readonly value: T
}

const newNode = <T>(): Node<T> => ({ below: new Map(), values: new Map() })

export class NameTree<T> {
  readonly #root = newNode<T>()

  /** Replaces what was set for these names under this key. */
  set(names: ClaimedNames, key: string, value: T): void {
    let node = this.#root
    for (const label of labelsOf(names)) node = getOrMake(node.below, label, newNode<T>)
    node.values.set(key, { names, value })
  }

  delete(names: ClaimedNames, key: string): void {
    const path = [this.#root]
    const labels = labelsOf(names)
    for (const label of labels) {
      const node = path.at(-1)!.below.get(label)
      if (node === undefined) return
      path.push(node)
    }
    path.at(-1)!.values.delete(key)
    for (let depth = labels.length; depth > 0 && isEmpty(path[depth]!); depth -= 1)
      path[depth - 1]!.below.delete(labels[depth - 1]!)
  }

  /** The values whose names overlap with these. */
  *overlapping(names: ClaimedNames): Generator<T> {
    let node: Node<T> | undefined = this.#root
    for (const label of labelsOf(names)) {
      yield* overlappingAt(node, names)
      node = node.below.get(label)
      if (node === undefined) return
    }
    const left = [node]
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      yield* overlappingAt(next, names)
      if (names.below) for (const child of next.below.values()) left.push(child)
    }
  }
}

const isEmpty = <T>({ below, values }: Node<T>): boolean => below.size + values.size === 0

function* overlappingAt<T>({ values }: Node<T>, names: ClaimedNames): Generator<T> {
  for (const placed of values.values()) if (overlap(placed.names, names)) yield placed.value
}

/** From the top. An address has dots, too, which does no harm: none is below another. */
const labelsOf = ({ domain }: ClaimedNames): string[] => domain.split('.').reverse()
