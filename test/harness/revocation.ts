/** How soon a process refuses something that another process revoked. */
import { until } from './weir.js'

interface Revocable {
  isAccepted(): Promise<boolean>
  /** Resolves with the answer to the deletion. */
  revoke(): Promise<unknown>
}

const times = 3

/**
 * The shortest time in milliseconds between answer and refusal, of several tries. A busy machine delays some of them, so
 * the longer ones say nothing about the process.
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
