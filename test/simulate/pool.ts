/** Processes that play worlds beside each other. */
import { type ChildProcess, fork } from 'node:child_process'
import type { Played, Task } from './worker.js'

export class Pool {
  readonly #workers: readonly ChildProcess[]

  constructor(program: string, count: number) {
    // Worlds leave much behind that is soon of no use.
    const execArgv = [...process.execArgv, '--max-semi-space-size=64']
    const start = (): ChildProcess => fork(program, [], { serialization: 'advanced', execArgv })
    this.#workers = Array.from({ length: count }, start)
  }

  /** Plays all of them, in any order, until `isEnough`. */
  async play(
    tasks: Iterable<Task>,
    played: (outcome: Played) => void,
    isEnough: () => boolean = () => false,
  ): Promise<void> {
    const waiting = tasks[Symbol.iterator]()
    const work = async (worker: ChildProcess): Promise<void> => {
      for (let next = waiting.next(); !next.done && !isEnough(); next = waiting.next())
        played(await playedBy(worker, next.value))
    }
    await Promise.all(this.#workers.map(work))
  }

  close(): void {
    for (const worker of this.#workers) if (worker.connected) worker.disconnect()
  }
}

/** A world that ends its process is a fault of the simulation. */
const playedBy = (worker: ChildProcess, task: Task): Promise<Played> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null): void =>
      reject(new Error(`The process that played ${JSON.stringify(task)} ended with ${code}.`))
    worker.once('exit', ended)
    worker.once('message', (outcome: Played) => {
      worker.off('exit', ended)
      resolve(outcome)
    })
    worker.send(task)
  })
