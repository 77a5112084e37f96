/** Starts a process that has ended, and sees on its wire when it works again. */
import { monotonicMs } from '../../src/ground/core/clock.js'
import { until } from '../harness/weir.js'
import type { Site, Worker } from './site.js'

/** The first line of a message that acknowledges work of a role. */
export const acknowledgements = {
  pipeline: /^PUB \$JS\.ACK\.\S*WEIR_RECORDS\S* 0$/,
  deliver: /^PUB \$JS\.ACK\.\S*WEIR_DELIVERIES\S* 0$/,
} as const

/** Resolves with how long after its start it had finished something. */
export async function revive(site: Site, worker: Worker): Promise<number> {
  const { role, wire } = worker
  if (role === 'api') throw new Error('An API acknowledges nothing.')
  let workedMs: number | undefined
  const forget = wire.watch({ line: acknowledgements[role], fate: 'pass' }, () => {
    workedMs = monotonicMs() - worker.startedMs
  })
  await site.restart(worker)
  await until(`the ${role} works again`, () => workedMs !== undefined).finally(forget)
  return workedMs ?? 0
}
