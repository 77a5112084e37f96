/** The names that an expression uses, and the texts that it compares them with. */
import { inList, type Scope, type ScopeName } from './scope.js'
import type { EntryTree, Tree } from './tree.js'

export interface UsedName<C> extends Pick<ScopeName<C>, 'read'> {
  /** As the scope declares it, also if the expression uses an alias. */
  readonly name: string
  /** The map that has it under `key`; for other names, the name itself. */
  readonly of: string
  readonly key?: string
}

/** Each name once. */
export function namesOf<C>(tree: Tree<C>, scope: Scope<C>): UsedName<C>[] {
  const used = new Map<string, UsedName<C>>()
  for (const part of partsIn(tree)) {
    const found = usedIn(part, scope)
    if (found !== undefined) used.set(found.name, found)
  }
  return [...used.values()]
}

/** The reads of lists, as often as they are written. */
export const listReadsOf = <C>(tree: Tree<C>, { lists }: Scope<C>): EntryTree<C>[] =>
  [...partsIn(tree)].filter((part) => part.kind === 'entry').filter(({ map }) => map === lists)

// --- what a name is compared with ---

/** All texts of the comparisons that have the name. Of `a == 'x' && b == 'y'`, only `x` is compared with `a`. */
export function comparedTexts<C>(tree: Tree<C>, { names }: Scope<C>, name: string): string[] {
  const read = names.get(name)?.read
  return [...comparisonsIn(tree)].flatMap((comparison) => {
    const parts = [...partsIn(comparison)]
    if (!parts.some((part) => part.kind === 'name' && part.read === read)) return []
    return parts.flatMap((part) =>
      part.kind === 'constant' && typeof part.value === 'string' ? [part.value] : [],
    )
  })
}

/** The parts that `&&`, `||`, `!` and `?` connect. */
function* comparisonsIn<C>(tree: Tree<C>): Generator<Tree<C>> {
  const rest = [tree]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (next.kind === 'logic' || next.kind === 'not' || next.kind === 'choice') rest.push(...partsOf(next))
    else yield next
  }
}

// --- parts of a tree ---

/** The tree and all parts of it. */
export function* partsIn<C>(tree: Tree<C>): Generator<Tree<C>> {
  const rest = [tree]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    yield next
    rest.push(...partsOf(next))
  }
}

function usedIn<C>(tree: Tree<C>, scope: Scope<C>): UsedName<C> | undefined {
  if (tree.kind === 'name') {
    const name = nameOf(tree.read, scope)
    return { name, of: name, read: tree.read }
  }
  if (tree.kind !== 'entry') return undefined
  const { map, key } = tree
  const { lists } = scope
  const of = map === lists ? inList.name : nameOf(map.read, scope)
  const name = map === lists ? `${of}(${lists.about}, ${quoted(key)})` : entryName(of, key)
  return { name, of, key, read: (context) => map.read(context, key) }
}

/** As an expression writes it. */
export const entryName = (map: string, key: string): string => `${map}[${quoted(key)}]`

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, (mark) => `\\${mark}`)}'`

/** Aliases share the reader of their name and come after it. */
function nameOf<C>(read: UsedName<C>['read'], { names }: Scope<C>): string {
  for (const [name, declared] of names) if (declared.read === read) return name
  throw new Error('A checked expression reads a name that its scope does not declare.')
}

const isTree = <C>(part: Tree<C> | undefined): part is Tree<C> => part !== undefined

/** The parts that it is made of, without theirs. */
export function partsOf<C>(tree: Tree<C>): readonly Tree<C>[] {
  switch (tree.kind) {
    case 'constant':
    case 'name':
    case 'entry':
      return []
    case 'element':
      return [tree.outer].filter(isTree)
    case 'member':
      return [tree.subject]
    case 'not':
      return [tree.operand]
    case 'binary':
      return [tree.left, tree.right]
    case 'logic':
      return tree.parts
    case 'choice':
      return [tree.test, tree.consequent, tree.alternate].filter(isTree)
    case 'list':
      return tree.items
    case 'object':
      return tree.entries.map(([, value]) => value)
    case 'pick':
      return [tree.subject, tree.test]
    case 'index':
      return [tree.subject, tree.key]
    case 'call':
      return tree.args
  }
}
