/**
 * Gives the files of the package the modes that they have in git. `npm pack` takes them as they are on the disk, where the
 * umask of the builder decides; the package should be the same for all.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** @param {string} root of the package */
export function evenModes(root) {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root })
  for (const { path } of JSON.parse(listed.toString('utf8'))[0].files) {
    const file = join(root, path)
    chmodSync(file, statSync(file).mode & 0o100 ? 0o755 : 0o644)
  }
}
