/**
 * What tests take from modules of Go: programs, built from `go.mod` and sources in a directory of the repository, and files of
 * modules that nothing is built of.
 */
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
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

const buildTimeoutMs = 600_000

interface Missing {
  /** Why this machine does not have it: there is no Go, or a module can't be fetched. */
  readonly missing: string
}

/**
 * The path of the program, which is that of `sources`, or a package of a module that its `go.mod` names. A build takes
 * minutes of CPU, so the program is kept in the user's cache for as long as its sources stay as they are. Throws an error
 * if it does not compile.
 */
export function goProgram(sources: string, of = '.'): { readonly program: string } | Missing {
  const kept = join(homedir(), '.cache', 'weir', 'go')
  const program = join(kept, hashOf(sources, of))
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
    const made = go('build', '-o', 'built', of)
    if (made.status !== 0)
      throw new Error(`${of} of ${sources} does not compile: ${made.error ?? made.stderr}`)
    // Whole at once: others may build it at the same time.
    renameSync(join(dir, 'built'), program)
    return { program }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

function hashOf(sources: string, of: string): string {
  const hash = createHash('sha256').update(of === '.' ? '' : of)
  for (const name of readdirSync(sources).toSorted())
    hash.update(name).update(readFileSync(join(sources, name)))
  return hash.digest('hex')
}

/** A version of a module, with the hash that `go.sum` would have. */
export interface GoModule {
  readonly path: string
  readonly version: string
  readonly sum: string
}

/** The directory with the files of a module, which Go keeps in a cache of its own. Throws an error if it is another one. */
export function goModule({ path, version, sum }: GoModule): { readonly dir: string } | Missing {
  const fetched = spawnSync('go', ['mod', 'download', '-json', `${path}@${version}`], {
    // Outside of this repository, whose directories may belong to a module.
    cwd: tmpdir(),
    timeout: buildTimeoutMs,
    encoding: 'utf8',
  })
  if (fetched.error !== undefined) return { missing: `there is no Go: ${fetched.error.message}` }
  const { Dir, Sum, Error: reason } = JSON.parse(fetched.stdout || '{}') as Record<string, string>
  if (Dir === undefined)
    return { missing: `${path} can't be fetched: ${reason ?? fetched.stderr.slice(0, 500)}` }
  if (Sum !== sum) throw new Error(`${path}@${version} has the hash ${Sum}, not ${sum}.`)
  return { dir: Dir }
}
