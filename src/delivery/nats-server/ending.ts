/** Ends a nats-server that is certainly ours: known by process id and start time. */
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { ServerRecord } from './files.js'
import { processStart } from './process-start.mjs'

const endTimeoutMs = 10_000
const lookEveryMs = 25

/** Ends the server that a killed Weir left behind, if it still runs. */
export async function endLeftover(
  { pid, start, port }: ServerRecord,
  occurrences: Pick<Occurrences, 'natsServerLeftover'>,
): Promise<void> {
  if (start === undefined || processStart(pid) !== start) return
  occurrences.natsServerLeftover({ serverPid: pid, port })
  await end(pid, start)
}

/** Ends exactly this process, first by SIGTERM, then by SIGKILL; resolves when it has ended. */
export async function end(pid: number, start: string | undefined): Promise<void> {
  const isRunning = () => start !== undefined && processStart(pid) === start
  const deadlineMs = monotonicMs() + endTimeoutMs
  if (isRunning()) signal(pid, 'SIGTERM')
  while (isRunning()) {
    if (monotonicMs() > deadlineMs) signal(pid, 'SIGKILL')
    await sleep(lookEveryMs)
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
