/**
 * Ends this process for certain. `process.exit` first waits for all native work, such as a statement of the embedded
 * ClickHouse or the look-up of a host name, and no timer fires while the main thread is held up. A thread that does
 * nothing else therefore sends SIGKILL to its own process: when the process has not ended within the time it was
 * given, or when its parent has been gone for that long.
 */
import { Worker } from 'node:worker_threads'

/** What the thread has to know from the start. */
export interface Watch {
  /** The process whose end is also ours; undefined for a process that runs alone. */
  readonly parentPid: number | undefined
  /** From the parent's end until ours. */
  readonly orphanMs: number
}

export class LastResort {
  readonly #worker: Worker

  constructor(watch: Watch) {
    this.#worker = new Worker(new URL('./last-resort-thread.js', import.meta.url), { workerData: watch })
    this.#worker.unref()
  }

  /** Of several deadlines the earliest counts. */
  endWithin(ms: number): void {
    this.#worker.postMessage(ms)
  }
}

/** Without any of the waiting that `process.exit` does; the exit code is lost. */
export function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL')
}
