/** Finds and ends the processes below a running Weir. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from './weir.js'

export interface TreeProcess {
  readonly pid: number
  /** `api`, `pipeline` …, `nats-server`, or the last argument. */
  readonly role: string
}

/** The parent of a running process; undefined for a zombie. */
function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' ? undefined : Number(parent)
  } catch {
    return undefined
  }
}

function roleOf(pid: number): string {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)
    return args.some((arg) => arg.endsWith('nats-server')) ? 'nats-server' : (args.at(-1) ?? '')
  } catch {
    return ''
  }
}

/** All descendants of this process. */
export function processesBelow(pid: number): TreeProcess[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined
    if (parent !== undefined) parents.set(Number(name), parent)
  }
  const below: TreeProcess[] = []
  const isBelow = (child: number): boolean => {
    const parent = parents.get(child)
    return parent !== undefined && (parent === pid || isBelow(parent))
  }
  for (const child of parents.keys()) if (isBelow(child)) below.push({ pid: child, role: roleOf(child) })
  return below
}

export const isAlive = ({ pid }: TreeProcess): boolean => parentOf(String(pid)) !== undefined

export function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

const ofRole = (pid: number, role: string): TreeProcess[] =>
  processesBelow(pid).filter((one) => one.role === role)

/** Resolves when a process of this role runs below `pid`: one that was killed is started again soon. */
export const untilRuns = (pid: number, role: string): Promise<void> =>
  until(`${role} runs`, () => ofRole(pid, role).length > 0)

/** Sends SIGKILL to the processes of this role below `pid`, as soon as there are any; resolves with how many have ended. */
export async function killRole(pid: number, role: string): Promise<number> {
  await untilRuns(pid, role)
  const found = ofRole(pid, role)
  for (const one of found) endNow(one.pid)
  await untilEnded(found)
  return found.length
}

/** Sends SIGKILL to a process and all its descendants, like a power cut. */
export async function killAll(pid: number): Promise<void> {
  const below = processesBelow(pid)
  endNow(pid)
  for (const one of below) endNow(one.pid)
  await untilEnded(below)
}

async function untilEnded(processes: readonly TreeProcess[]): Promise<void> {
  while (processes.some(isAlive)) await sleep(20)
}
