/** Claims of a row: values that must be unique in the deployment. */
import { WeirError } from '../core/errors.js'
import type { AnyResource, Row } from '../resource/define.js'
import { type Claim, claimsOf } from '../store/plan.js'

/** Attempts to draw an unused value. Failing this often means the space is nearly exhausted. */
const drawsMax = 100

/** Claims that the row did not have before. */
export const newClaims = (
  resource: AnyResource,
  row: Row,
  before: readonly string[],
  more: Pick<Claim, 'drawAgain'> = {},
): Claim[] =>
  claimsOf(resource.kind, row)
    .filter((claim) => !before.includes(claim))
    .map((claim) => ({
      claim,
      id: row.id,
      taken: () => new WeirError('ERR_CONFLICT', resource.takenMessage?.(claim) ?? `${claim} is taken.`),
      ...more,
    }))

/** If claims are drawn at random, a value that is already taken is drawn again, a bounded number of times. */
export function redraws(resource: AnyResource, draw: () => void): Pick<Claim, 'drawAgain'> {
  if (!resource.claimsAreDrawn) return {}
  let left = drawsMax - 1
  return {
    drawAgain: () => {
      if (left === 0) return false
      left -= 1
      draw()
      return true
    },
  }
}
