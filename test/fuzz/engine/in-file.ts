/** Parsers that are given the path of a file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory for one file at a time. */
const directory = () => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-fuzz-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  return dir
}
let dir: string | undefined

export function inFile<T>(name: string, bytes: Uint8Array, use: (path: string) => T): T {
  dir ??= directory()
  const path = join(dir, name)
  writeFileSync(path, bytes, { mode: 0o600 })
  return use(path)
}
