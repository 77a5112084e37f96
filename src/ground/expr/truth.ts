/** The truth of an expression as far as it is known without any record, from the values that its names can have. */
import type { Candidate } from './domain.js'
import { fails, isFalse, isTrue, type Outcomes, outcomesOf } from './outcomes.js'
import type { Scope } from './scope.js'
import type { Tree } from './tree.js'
import { candidatesOfVariable, type Leaf, TruthParts, type Variable } from './truth-parts.js'

/**
 * - `always`: true for every record. `unless_fails`: for every one for which it has a result.
 * - `never`: for none it is true; it may fail for some.
 * - `fails`: it has a result for no record.
 */
export type Truth = 'always' | 'unless_fails' | 'never' | 'fails'

/** How much is still tried, of all expressions together; a small number makes the search miss something. */
export interface TruthWork {
  left: number
}

/** Parts that are judged for one expression. */
const workMax = 20_000

/** Undefined if it depends on the record, or if finding out would cost too much. */
export function truthOfTree<C>(
  tree: Tree<C>,
  scope: Scope<C>,
  work: TruthWork = { left: workMax },
): Truth | undefined {
  const parts = new TruthParts(scope)
  const connected = parts.connected(tree)
  let all: Outcomes = 0
  for (const known of new Assumptions(parts.leaves).each(work)) {
    all |= outcomesOf(connected, known)
    if (all & isTrue && all & isFalse) return undefined
  }
  if (all === fails) return 'fails'
  if (all & isTrue) return all & fails ? 'unless_fails' : 'always'
  return 'never'
}

type Known = (leaf: Leaf) => Outcomes

/** Something that several parts depend on, with all values that it can have. */
type Assumed =
  | { readonly of: Variable; readonly choices: readonly Candidate[] }
  | { readonly of: string; readonly choices: readonly Outcomes[] }

/**
 * Goes through all values of the names that several parts have in common, and through all outcomes of parts that stand there
 * several times. Any other part can come to all that it can come to by itself.
 */
class Assumptions {
  readonly #leaves: readonly Leaf[]
  readonly #byItself = new Map<Leaf, Outcomes>()

  constructor(leaves: readonly Leaf[]) {
    this.#leaves = leaves
  }

  *each(work: TruthWork): Generator<Known> {
    const assumed = this.#affordable(work)
    const count = assumed.reduce((product, { choices }) => product * choices.length, 1)
    work.left -= count * this.#leaves.length
    // First those with the most differences: most expressions are not constant, and are done then.
    const most = Math.max(1, ...assumed.map(({ choices }) => choices.length))
    for (let at = 0; at < most && count > 1; at++) yield this.#known(assumed, () => at)
    for (let at = 0; at < count; at++) {
      let rest = at
      yield this.#known(assumed, (length) => {
        const here = rest
        rest = Math.floor(rest / length)
        return here
      })
    }
  }

  #known(assumed: readonly Assumed[], indexOf: (length: number) => number): Known {
    const values = new Map(
      assumed.map(({ of, choices }) => [of, choices[indexOf(choices.length) % choices.length]!] as const),
    )
    return (leaf) => {
      const candidate = leaf.variable && (values.get(leaf.variable) as Candidate | undefined)
      if (candidate !== undefined && (candidate.isExact || leaf.isComparison))
        return leaf.outcomeOf(candidate.value)
      const shared = leaf.text === undefined ? undefined : (values.get(leaf.text) as Outcomes | undefined)
      return shared ?? (candidate === undefined ? this.#outcomesByItself(leaf) : leaf.outcomes)
    }
  }

  /** The outcomes of the leaf over all values of its name. */
  #outcomesByItself(leaf: Leaf): Outcomes {
    let known = this.#byItself.get(leaf)
    if (known === undefined) {
      known = outcomesOver(leaf)
      this.#byItself.set(leaf, known)
    }
    return known
  }

  /** Names with the fewest choices are tried; the rest counts as unknown. */
  #affordable(work: TruthWork): readonly Assumed[] {
    const max = Math.min(workMax, work.left) / Math.max(1, this.#leaves.length)
    let count = 1
    return this.#shared()
      .sort((one, other) => one.choices.length - other.choices.length)
      .filter(({ choices }) => {
        const isTooMuch = count * choices.length > max
        if (!isTooMuch) count *= choices.length
        return !isTooMuch
      })
  }

  #shared(): Assumed[] {
    const variables = new Set(this.#leaves.flatMap(({ variable }) => variable ?? []))
    const texts = new Map<string, Leaf[]>()
    for (const leaf of this.#leaves) {
      if (leaf.text === undefined || leaf.isComparison) continue
      texts.set(leaf.text, [...(texts.get(leaf.text) ?? []), leaf])
    }
    return [
      ...[...variables]
        .filter(({ leaves }) => leaves > 1)
        .map((of) => ({ of, choices: candidatesOfVariable(of) })),
      ...[...texts]
        .filter(([, { length }]) => length > 1)
        .map(([of, [leaf]]) => ({
          of,
          choices: [isTrue, isFalse, fails].filter((outcome) => leaf!.outcomes & outcome),
        })),
    ]
  }
}

function outcomesOver(leaf: Leaf): Outcomes {
  const { variable } = leaf
  if (variable === undefined) return leaf.outcomes
  let all: Outcomes = 0
  for (const { value, isExact } of candidatesOfVariable(variable)) {
    all |= isExact || leaf.isComparison ? leaf.outcomeOf(value) : leaf.outcomes
    if (all === leaf.outcomes) break
  }
  return all
}
