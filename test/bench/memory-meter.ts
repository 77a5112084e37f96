/** The memory that a system of processes keeps resident. Linux only, because it reads `/proc`. */
import { readFileSync } from 'node:fs'
import type { TreeProcess } from '../harness/tree.js'

/** A mapping begins with its address range, and ends with its file, if it has one. */
const mappingHead = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ (?<inode>\d+) *(?<path>.*)$/
const kibibyte = 1024

interface Resident {
  /** Anonymous memory and changed pages of files, added up over the processes. */
  readonly privateBytes: number
  /** Pages of programs and libraries. Processes share them, so a file counts once: as in the process that has most of it. */
  readonly fileBytes: number
}

export function residentOf(processes: readonly TreeProcess[]): Resident {
  const files = new Map<string, number>()
  let privateBytes = 0
  for (const { pid } of processes) {
    const mapped = new Map<string, number>()
    let file: string | undefined
    for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
      const head = mappingHead.exec(line)?.groups
      if (head !== undefined) file = head['inode'] === '0' ? undefined : head['path']
      const [, name, size] = /^(Rss|Anonymous): +(\d+) kB$/.exec(line) ?? []
      const bytes = Number(size) * kibibyte
      if (name === 'Anonymous') privateBytes += bytes
      if (file === undefined || name === undefined) continue
      mapped.set(file, (mapped.get(file) ?? 0) + (name === 'Rss' ? bytes : -bytes))
    }
    for (const [path, bytes] of mapped) files.set(path, Math.max(bytes, files.get(path) ?? 0))
  }
  return { privateBytes, fileBytes: [...files.values()].reduce((sum, bytes) => sum + bytes, 0) }
}
