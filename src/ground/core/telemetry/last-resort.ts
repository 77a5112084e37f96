/**
 * Guarantees that this process ends. `process.exit` first waits for all native work, such as a statement of the
 * embedded ClickHouse or a DNS lookup, and no timer fires while the main thread is blocked. Therefore a dedicated thread
 * sends SIGKILL to its own process if that has not ended in time, or if its parent ended that long ago.
 */
import { Worker } from 'node:worker_threads'
import { programFile } from '../package.js'

/** The initial data of the thread. */
export interface Watch {
  /** This process ends after its parent; undefined for a process that runs alone. */
  readonly parentPid: number | undefined
  /** Time from the parent's end to the end of this process. */
  readonly orphanMs: number
}

export class LastResort {
  readonly #watch: Watch
  #worker: Worker | undefined

  constructor(watch: Watch) {
    this.#watch = watch
    // Without a parent to watch, the thread has nothing to do before the first deadline; it takes a tenth of a start.
    if (watch.parentPid !== undefined) this.#thread()
  }

  /** The earliest of several deadlines counts. */
  endWithin(ms: number): void {
    this.#thread().postMessage(ms)
  }

  #thread(): Worker {
    this.#worker ??= new Worker(programFile('last-resort-thread'), { workerData: this.#watch })
    this.#worker.unref()
    return this.#worker
  }
}

/** Ends without the waiting of `process.exit`; the exit code is lost. */
export function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL')
}
