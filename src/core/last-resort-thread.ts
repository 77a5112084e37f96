/** The thread of `LastResort`. A blocked main thread does not hold it up, and a message reaches it all the same. */
import { parentPort, workerData } from 'node:worker_threads'
import { after, every } from './clock.js'
import { endAtOnce, type Watch } from './last-resort.js'

const lookEveryMs = 200

const { parentPid, orphanMs } = workerData as Watch

/** An orphan gets another parent. */
if (parentPid !== undefined) {
  const looking = every(lookEveryMs, () => {
    if (process.ppid === parentPid) return
    looking.stop()
    after(orphanMs, endAtOnce)
  })
}
/** Being listened to, the port keeps the thread: none of the timers does. */
parentPort?.on('message', (ms: number) => after(ms, endAtOnce))
