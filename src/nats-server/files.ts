/** Small files of the data directory, which hold secrets or tell another process where this one is. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/** Writes atomically, by rename; only the owner can read the file. */
export function writeWhole(path: string, text: string): void {
  rmSync(`${path}.new`, { force: true })
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** The text without space around it; undefined if there is no such file. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
