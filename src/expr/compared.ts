/** The texts that an expression compares a name with. */
import { partsIn, partsOf } from './names.js'
import type { Scope } from './scope.js'
import type { Tree } from './tree.js'

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
