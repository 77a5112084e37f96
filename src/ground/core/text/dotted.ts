/** Trees of fields whose names are paths, such as `http.request.method`. */
import { getOrMake } from '../maps.js'

/** Members by name: a field, or the members below. */
export type DottedTree<T> = Map<string, T | DottedTree<T>>

/** Groups fields by the parts of their dotted names; members keep the order in which they first occur. */
export function treeOfDotted<T>(fields: Iterable<readonly [name: string, field: T]>): DottedTree<T> {
  const root: DottedTree<T> = new Map()
  for (const [name, field] of fields) {
    const path = name.split('.')
    const leaf = path.pop()!
    let tree = root
    for (const group of path) {
      tree = getOrMake(tree, group, () => new Map()) as DottedTree<T>
    }
    tree.set(leaf, field)
  }
  return root
}
