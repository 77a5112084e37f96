/** The outcomes that an expression can have, over all records: a set of bits. */
import type { LogicTree } from './tree.js'

export type Outcomes = number

export const isTrue = 1
export const isFalse = 2
export const fails = 4

/** A part of which nothing is known can come to any. */
export const anyOutcome: Outcomes = isTrue | isFalse | fails

/** How parts of an expression are connected; `L` is a part that connects nothing. */
export type Connected<L> =
  | { readonly kind: 'leaf'; readonly leaf: L }
  | { readonly kind: 'not'; readonly part: Connected<L> }
  | {
      readonly kind: 'logic'
      readonly operator: LogicTree<never>['operator']
      readonly parts: readonly Connected<L>[]
    }
  | {
      readonly kind: 'choice'
      readonly test: Connected<L>
      readonly consequent: Connected<L> | undefined
      readonly alternate: Connected<L>
    }

export function outcomesOf<L>(part: Connected<L>, ofLeaf: (leaf: L) => Outcomes): Outcomes {
  switch (part.kind) {
    case 'leaf':
      return ofLeaf(part.leaf)
    case 'not': {
      const outcomes = outcomesOf(part.part, ofLeaf)
      return (outcomes & fails) | (outcomes & isTrue ? isFalse : 0) | (outcomes & isFalse ? isTrue : 0)
    }
    case 'logic':
      return ofLogic(part.operator === '||' ? isTrue : isFalse, part.parts, ofLeaf)
    case 'choice': {
      const tested = outcomesOf(part.test, ofLeaf)
      const { consequent, alternate } = part
      const chosen = tested & isTrue && (consequent === undefined ? isTrue : outcomesOf(consequent, ofLeaf))
      return (tested & fails) | chosen | (tested & isFalse && outcomesOf(alternate, ofLeaf))
    }
  }
}

/** Parts behind one that decides are not evaluated. */
function ofLogic<L>(
  deciding: Outcomes,
  parts: readonly Connected<L>[],
  ofLeaf: (leaf: L) => Outcomes,
): Outcomes {
  const going = deciding === isTrue ? isFalse : isTrue
  let all = 0
  for (const part of parts) {
    const outcomes = outcomesOf(part, ofLeaf)
    all |= outcomes & (deciding | fails)
    if (!(outcomes & going)) return all
  }
  return all | going
}
