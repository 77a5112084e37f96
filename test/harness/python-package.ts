/** Packages of Python that a test needs, in a directory of their own. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const installTimeoutMs = 300_000

/**
 * The directory for `PYTHONPATH` that has the package, or why this machine can't have it: without Python, or if PyPI can't be
 * reached. It stays in the user's cache. `pinned`: such as `ngrok-api==0.19.0`.
 */
export function pythonPackage(pinned: string): { readonly directory: string } | { readonly missing: string } {
  const kept = join(homedir(), '.cache', 'weir', 'python')
  const packages = join(kept, pinned)
  if (!existsSync(packages)) {
    mkdirSync(kept, { recursive: true })
    const dir = mkdtempSync(join(kept, 'install-'))
    try {
      const options = [
        '--quiet',
        '--disable-pip-version-check',
        '--no-input',
        '--target',
        join(dir, 'packages'),
      ]
      const installed = spawnSync('python3', ['-m', 'pip', 'install', ...options, pinned], {
        timeout: installTimeoutMs,
        encoding: 'utf8',
      })
      if (installed.error !== undefined) return { missing: `there is no Python: ${installed.error.message}` }
      if (installed.status !== 0)
        return { missing: `${pinned} can't be installed: ${installed.stderr.slice(-500)}` }
      // Whole at once: others may install it at the same time.
      if (!existsSync(packages)) renameSync(join(dir, 'packages'), packages)
    } finally {
      rmSync(dir, { recursive: true })
    }
  }
  return { directory: packages }
}
