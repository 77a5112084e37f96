/** The values that a name can have, so that comparisons can be judged without a record. */

/**
 * - `number`: from `min` to `max`, both included; whole numbers only, or any
 * - `text`: texts of a form
 * - `choice`: these values
 */
export type Domain =
  | { readonly kind: 'number'; readonly min: number; readonly max: number; readonly isWhole: boolean }
  | { readonly kind: 'text'; readonly has: (text: string) => boolean }
  | { readonly kind: 'choice'; readonly values: readonly unknown[] }

export const wholeNumbers = (min: number, max: number): Domain => ({
  kind: 'number',
  min,
  max,
  isWhole: true,
})
export const numbers = (min: number, max: number): Domain => ({ kind: 'number', min, max, isWhole: false })
export const textsLike = (has: (text: string) => boolean): Domain => ({ kind: 'text', has })
export const oneOf = (...values: unknown[]): Domain => ({ kind: 'choice', values })

/** Domains of the types whose names declare none. */
export const anyNumber = numbers(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
export const anyText = textsLike(() => true)
export const anyBoolean = oneOf(true, false)

/** A value that a name can have. */
export interface Candidate {
  readonly value: unknown
  /** It stands for itself alone; else for all values that the same constants compare alike with. */
  readonly isExact: boolean
}

const exact = (value: unknown): Candidate => ({ value, isExact: true })
const typical = (value: unknown): Candidate => ({ value, isExact: false })

/** Both are what names without a value have. */
const absent = [exact(undefined), exact(null)]

/** The value that a name is compared with. */
interface Compared {
  readonly constants: readonly unknown[]
  /** Is it smaller or larger than they are? */
  readonly isOrdered: boolean
}

/** At least one candidate for each way in which values of the domain can compare with the constants. */
export function candidatesOf(domain: Domain, compared: Compared): readonly Candidate[] {
  switch (domain.kind) {
    case 'choice':
      return [...domain.values.map(exact), ...absent]
    case 'text':
      return [...textCandidates(domain.has, compared), ...absent]
    case 'number':
      return [...numberCandidates(domain, compared.constants.map(Number)), ...absent]
  }
}

/** Between two texts, the first one after the smaller of them stands for all. */
function textCandidates(
  has: (text: string) => boolean,
  { constants, isOrdered }: Compared,
): readonly Candidate[] {
  const texts = new Set(constants.filter((each) => typeof each === 'string'))
  const others = isOrdered ? ['\0', ...[...texts].map(after)].filter((text) => !texts.has(text)) : []
  if (!isOrdered) {
    let other = '\0'
    while (texts.has(other)) other = after(other)
    others.push(other)
  }
  return [...[...new Set([...texts, ''])].filter(has).map(exact), ...others.map(typical)]
}

const after = (text: string): string => `${text}\0`

function numberCandidates(
  { min, max, isWhole }: Extract<Domain, { kind: 'number' }>,
  constants: readonly number[],
): readonly Candidate[] {
  const isPossible = (value: number) => value >= min && value <= max && (!isWhole || Number.isInteger(value))
  const own = [...new Set(constants.filter(Number.isFinite))].sort((one, other) => one - other)
  const near = isWhole
    ? own.flatMap((value) => [Math.ceil(value) - 1, Math.floor(value) + 1])
    : [...own, max].map((value, index) => {
        const before = own[index - 1] ?? min
        if (value === Number.POSITIVE_INFINITY) return Number.isFinite(before) ? before + 1 : 1
        return Number.isFinite(before) ? before + (value - before) / 2 : value - 1
      })
  const known = new Set(own)
  const others = new Set([min, max, ...near].filter((value) => Number.isFinite(value) && !known.has(value)))
  return [...own.filter(isPossible).map(exact), ...[...others].filter(isPossible).map(typical)]
}
