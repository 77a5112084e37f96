/** Changes as people see them: the promotion of a challenger is one change, with all that it caused. */
import type { Change } from '../../../../words/shape/decisions/change-schema.js'

export interface ListedChange {
  readonly change: Change
  /** The changes that the promotion caused; none for other changes. */
  readonly caused: readonly Change[]
}

const isOf = ({ by_promotion_of, version }: Change, { id, version: promoted }: Change): boolean =>
  by_promotion_of === id && version === promoted

/** In their order. What a promotion caused stands by itself only where the promotion is not listed. */
export function listedChanges(changes: readonly Change[]): ListedChange[] {
  const promotions = changes.filter(({ id, by_promotion_of }) => id === by_promotion_of)
  return changes
    .filter((each) => !promotions.some((promotion) => isOf(each, promotion) && each.id !== promotion.id))
    .map((change) => ({
      change,
      caused: promotions.includes(change)
        ? changes.filter((each) => isOf(each, change) && each.id !== change.id)
        : [],
    }))
}

/** Names a change within an account. */
export const keyOfChange = ({ version, id }: Change): string => `${version}.${id}`
