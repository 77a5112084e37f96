/** How soon something that was revoked is refused by a process that learns of it from another one. */
import { until } from './weir.js'

export interface Revocable {
  isAccepted(): Promise<boolean>
  /** Resolves with the answer to the deletion. */
  revoke(): Promise<unknown>
}

const times = 3

/**
 * Does it several times, and tells the shortest time in milliseconds from the answer to the refusal. A busy machine
 * makes any of them longer, so the others say nothing of the process.
 */
export async function soonestRefusalMs(make: () => Promise<Revocable>): Promise<number> {
  const waitsMs: number[] = []
  for (let turn = 0; turn < times; turn += 1) {
    const revocable = await make()
    await until('it is accepted', () => revocable.isAccepted())
    await revocable.revoke()
    const answeredAt = Date.now()
    await until('it is refused', async () => !(await revocable.isAccepted()))
    waitsMs.push(Date.now() - answeredAt)
  }
  return Math.min(...waitsMs)
}
