/**
 * Holds processes to a share of a core each: by a control group (version 2 or 1) if this user may make one, and otherwise by
 * stopping and continuing them, which takes time away where a group takes CPU away. Linux only.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Closers } from './system.js'

const periodUs = 20_000

/** Returns how they are held. The caller's closers let them go. */
export function holdToShare(closers: Closers, pids: readonly number[], share: number): string {
  const found = versions.find(isWritable)
  for (const pid of pids) {
    if (found === undefined) closers.teardown(dutyCycle(pid, share))
    else closers.teardown(inGroup(found, pid, share))
  }
  return found?.name ?? 'SIGSTOP and SIGCONT'
}

interface Version {
  readonly name: string
  readonly root: string
  /** The controller is there, and groups below the root get it. */
  isThere(): boolean
  limit(group: string, quotaUs: number): void
}

const versions: readonly Version[] = [
  {
    name: 'control groups, version 2',
    root: '/sys/fs/cgroup',
    isThere: () => {
      const file = '/sys/fs/cgroup/cgroup.subtree_control'
      return existsSync(file) && readFileSync(file, 'utf8').split(/\s/).includes('cpu')
    },
    limit: (group, quotaUs) => writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${periodUs}`),
  },
  {
    name: 'control groups, version 1',
    root: '/sys/fs/cgroup/cpu',
    isThere: () => existsSync('/sys/fs/cgroup/cpu/cgroup.procs'),
    limit: (group, quotaUs) => {
      writeFileSync(join(group, 'cpu.cfs_period_us'), String(periodUs))
      writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quotaUs))
    },
  },
]

const groupOf = ({ root }: Version, pid: number): string => join(root, `weir-bench-${pid}`)

function isWritable(version: Version): boolean {
  if (!version.isThere()) return false
  const group = groupOf(version, process.pid)
  try {
    mkdirSync(group)
    rmdirSync(group)
    return true
  } catch {
    // Not this user's, or read-only, as in a container.
    return false
  }
}

function inGroup(version: Version, pid: number, share: number): () => void {
  const group = groupOf(version, pid)
  mkdirSync(group)
  version.limit(group, Math.round(share * periodUs))
  writeFileSync(join(group, 'cgroup.procs'), String(pid))
  return () => {
    // A group with processes can't be removed.
    writeFileSync(join(version.root, 'cgroup.procs'), String(pid))
    rmdirSync(group)
  }
}

function dutyCycle(pid: number, share: number): () => void {
  let timer: NodeJS.Timeout
  const periodMs = periodUs / 1_000
  const go = (): void => {
    process.kill(pid, 'SIGCONT')
    timer = setTimeout(stop, periodMs * share)
  }
  const stop = (): void => {
    process.kill(pid, 'SIGSTOP')
    timer = setTimeout(go, periodMs * (1 - share))
  }
  go()
  return () => {
    clearTimeout(timer)
    process.kill(pid, 'SIGCONT')
  }
}
