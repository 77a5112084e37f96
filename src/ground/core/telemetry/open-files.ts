/** How many files a process may open, and has open, as Linux says; other systems do not say. */
import { readdirSync, readFileSync } from 'node:fs'

interface OpenFiles {
  /** The limit that the system applies (the soft one); null: not known. */
  readonly max: number | null
  readonly open: number | null
}

export function openFilesOf(pid: number | 'self'): OpenFiles {
  return { max: limitOf(pid), open: countOf(pid) }
}

function limitOf(pid: number | 'self'): number | null {
  try {
    const [, soft] =
      /^Max open files\s+(\d+|unlimited)\s/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? []
    if (soft === undefined) return null
    return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft)
  } catch {
    return null
  }
}

/** Not known for a process of another user. */
function countOf(pid: number | 'self'): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return null
  }
}
