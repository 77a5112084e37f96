/** Waits for a condition. A busy machine is slow, but goes on: only a standstill is an end. */
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'

const lookEveryMs = 200
/** If nothing changes for this long, nothing will. Restarted processes and pauses between attempts take half a minute. */
const standstillMs = 120_000

/** The value that was waited for; or the situation in words, which tells whether anything moves. */
type Look<T> = { readonly found: T } | { readonly situation: string }

/**
 * Looks again and again, until it is found; throws the situation if that stays the same for too long. A look that fails is a
 * situation, too: programs that are busy do not always answer in time.
 */
export async function untilFound<T>(
  look: () => Promise<Look<T>>,
  { everyMs = lookEveryMs, patienceMs = standstillMs } = {},
): Promise<T> {
  let known = ''
  let movedMs = monotonicMs()
  for (;;) {
    const seen = await look().catch((error: unknown) => ({ situation: messageOf(error) }))
    if ('found' in seen) return seen.found
    if (seen.situation !== known) movedMs = monotonicMs()
    known = seen.situation
    if (monotonicMs() - movedMs > patienceMs) throw new Error(`Nothing moves any more: ${known}`)
    await sleep(everyMs)
  }
}
