/** When something was used last. */
import { Time } from './time.js'

interface UsedProps {
  /** RFC 3339; null: never. */
  readonly at: string | null | undefined
  /** The address, where it is told apart. */
  readonly from?: string | null | undefined
}

export const Used = ({ at, from }: UsedProps) =>
  at == null ? (
    <span class="quiet">never</span>
  ) : (
    <>
      <Time at={at} isRelative />
      {from != null && ` from ${from}`}
    </>
  )
