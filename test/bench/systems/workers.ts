/** The processes of one role as a row needs them: each on a core of its own, and at work when it says so. */
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { processesBelow, type TreeProcess } from '../../harness/tree.js'
import { cpuUsed } from '../cpu-meter.js'

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

  constructor(processes: readonly TreeProcess[], role: string) {
    this.#workers = processes.filter((one) => one.role === role).toSorted((a, b) => a.pid - b.pid)
  }

  /** Pins the first to the first core, the second to the second. */
  pin(): void {
    for (const [core, { pid }] of this.#workers.entries()) pin(pid, String(core))
  }

  /** Microseconds since they started, all together. */
  get cpuUs(): number {
    return Object.values(cpuUsed(this.#workers)).reduce((sum, us) => sum + us, 0)
  }

  stop(): void {
    this.#signal('SIGSTOP')
  }

  continue(): void {
    this.#signal('SIGCONT')
  }

  #signal(signal: NodeJS.Signals): void {
    for (const { pid } of this.#workers) process.kill(pid, signal)
  }
}

/** Pins workers to cores of their own; and what else this process started, and itself, to all cores but the first. */
export function pinAll(groups: readonly Workers[]): void {
  const others = cpus().length === 2 ? '1' : `1-${cpus().length - 1}`
  pin(process.pid, others)
  for (const { pid } of processesBelow(process.pid)) pin(pid, others)
  for (const workers of groups) workers.pin()
}
