/** Scales what was set in seconds to the machine: the bounds are of one where `node -e 0` takes 40 ms. */
import { spawnSync } from 'node:child_process'
import { monotonicMs } from '../../src/ground/core/clock.js'

export const nodeStartMs = 40

/** How much slower than the machine of the bounds this one is. */
export function slowness(): number {
  const times = Array.from({ length: 10 }, () => {
    const begunMs = monotonicMs()
    spawnSync(process.execPath, ['-e', '0'])
    return monotonicMs() - begunMs
  })
  // The fastest, because others use the machine, too.
  return Math.min(...times) / nodeStartMs
}
