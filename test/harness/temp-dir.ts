/**
 * A directory for servers of a test, removed when everything that was opened after it is closed. The test runner's own
 * directories are removed before anything is torn down.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Call it before anything is opened in it: what is torn down last is what was set up first. */
export function tempDir(t: { teardown(close: () => unknown): unknown }): string {
  const dir = mkdtempSync(join(tmpdir(), 'weir test '))
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  return dir
}
