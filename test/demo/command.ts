/** The command `weir demo`, and what it leaves behind. */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { type Running, run } from '../harness/processes.js'

/** Its directories are made in `tmp`, where no other program's are. */
export const demo = (tmp: string, ...args: string[]): Running =>
  run('src/main.js', ['demo', ...args], { TMPDIR: tmp })

export const exitCode = ({ child }: Running): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode)
    // Unlike `exit`, this comes after the last of its output.
    child.once('close', resolve)
  })

interface Process {
  readonly pid: number
  readonly parent: number
}

/** Those that have ended and only wait to be asked how are left out. */
function liveProcesses(): Process[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=']).toString().trim().split('\n')
  return lines.flatMap((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/)
    return state.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent) }]
  })
}

/** Everything below a process. */
export function processesBelow(pid: number): number[] {
  const live = liveProcesses()
  const below = [pid]
  for (const parent of below)
    below.push(...live.filter((each) => each.parent === parent).map((each) => each.pid))
  return below.slice(1)
}

export function stillAlive(pids: readonly number[]): number[] {
  const live = new Set(liveProcesses().map(({ pid }) => pid))
  return pids.filter((pid) => live.has(pid))
}

export const directoriesIn = (tmp: string): string[] =>
  readdirSync(tmp).filter((name) => name.startsWith('weir-demo-'))
