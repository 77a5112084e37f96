/** The thread of `LastResort`. It runs and receives messages even while the main thread is blocked. */
import { parentPort, workerData } from 'node:worker_threads'
import { after, every } from '../clock.js'
import { endAtOnce, type Watch } from './last-resort.js'

/** With the time that an orphan has, within the 6 s that docs/guarantees.md promises. */
const lookEveryMs = 1_000

const { parentPid, orphanMs } = workerData as Watch

/** An orphan gets a new parent process. */
if (parentPid !== undefined) {
  const looking = every(lookEveryMs, () => {
    if (process.ppid === parentPid) return
    looking.stop()
    after(orphanMs, endAtOnce)
  })
}
/** The listener keeps the thread alive; the timers don't. */
parentPort?.on('message', (ms: number) => after(ms, endAtOnce))
