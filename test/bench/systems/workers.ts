/** The processes of one role as a row needs them: each on a core of its own, and only as many at work as it says. */
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { sleep } from '../../../src/core/clock.js'
import { processesBelow, type TreeProcess } from '../../harness/tree.js'
import { cpuUsed } from '../cpu-meter.js'

/** The server keeps what a stopped process asked for so long: messages would be sent to it, and wait there. */
const requestsExpireMs = 4_500

/** The `taskset` of util-linux, with more than one core to choose from. */
export const canPin = (): boolean =>
  cpus().length > 1 && spawnSync('taskset', ['--version'], { stdio: 'ignore' }).error === undefined

/** All threads of a process, and those that it starts later. */
function pin(pid: number, cores: string): void {
  const { status, stderr } = spawnSync('taskset', ['-a', '-p', '-c', cores, String(pid)], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`taskset: ${stderr}`)
}

export class Workers {
  readonly #workers: readonly TreeProcess[]

  /**
   * Pins the first worker to the first core, the second to the second, and everything else that this process started,
   * and itself, to all cores but the first.
   */
  constructor(processes: readonly TreeProcess[], role: string) {
    this.#workers = processes.filter((one) => one.role === role).toSorted((a, b) => a.pid - b.pid)
    if (this.#workers.length !== 2) throw new Error(`${this.#workers.length} processes are ${role}, not two.`)
    const others = cpus().length === 2 ? '1' : `1-${cpus().length - 1}`
    pin(process.pid, others)
    for (const { pid } of processesBelow(process.pid)) pin(pid, others)
    for (const [core, { pid }] of this.#workers.entries()) pin(pid, String(core))
  }

  /** Microseconds since they started, all together. */
  get cpuUs(): number {
    return Object.values(cpuUsed(this.#workers)).reduce((sum, us) => sum + us, 0)
  }

  /** Stops all of them; resolves when nothing more is sent to them. */
  async stop(): Promise<void> {
    this.#signal('SIGSTOP', this.#workers.length)
    await sleep(requestsExpireMs)
  }

  /** Lets the first so many continue. */
  continue(count: number): void {
    this.#signal('SIGCONT', count)
  }

  #signal(signal: NodeJS.Signals, count: number): void {
    for (const { pid } of this.#workers.slice(0, count)) process.kill(pid, signal)
  }
}
