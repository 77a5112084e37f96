/** The start that others are compared with: 40 ms on a quiet machine of two cores. */
import { execFileSync } from 'node:child_process'
import { monotonicMs } from '../../src/ground/core/clock.js'

const starts = 5

/** How long `node -e 0` takes. */
export function nodeStartMs(): number {
  const begunMs = monotonicMs()
  for (let n = 0; n < starts; n += 1) execFileSync(process.execPath, ['-e', '0'])
  return (monotonicMs() - begunMs) / starts
}
