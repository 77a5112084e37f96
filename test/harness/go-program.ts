/** Programs in Go that a test compares Weir with, built from `go.mod` and sources in a directory of the repository. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const buildTimeoutMs = 600_000

/**
 * The path of the program, or why this machine can't build it: without Go, or if its modules can't be fetched. A build takes
 * a minute of CPU, so the program is kept in the user's cache for as long as its sources stay as they are. Throws an error
 * if it does not compile.
 */
export function goProgram(sources: string): { readonly program: string } | { readonly missing: string } {
  const kept = join(homedir(), '.cache', 'weir', 'go')
  const program = join(kept, hashOf(sources))
  if (existsSync(program)) return { program }
  mkdirSync(kept, { recursive: true })
  const dir = mkdtempSync(join(kept, 'build-'))
  try {
    cpSync(sources, dir, { recursive: true })
    const go = (...args: string[]) =>
      spawnSync('go', args, { cwd: dir, timeout: buildTimeoutMs, encoding: 'utf8' })
    const fetched = go('mod', 'download')
    if (fetched.error !== undefined) return { missing: `there is no Go: ${fetched.error.message}` }
    if (fetched.status !== 0)
      return { missing: `its modules can't be fetched: ${fetched.stderr.slice(0, 500)}` }
    const made = go('build', '-o', 'built', '.')
    if (made.status !== 0) throw new Error(`${sources} does not compile: ${made.error ?? made.stderr}`)
    // Whole at once: others may build it at the same time.
    renameSync(join(dir, 'built'), program)
    return { program }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

function hashOf(sources: string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(sources).toSorted())
    hash.update(name).update(readFileSync(join(sources, name)))
  return hash.digest('hex')
}
