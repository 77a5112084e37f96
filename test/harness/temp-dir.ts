/**
 * A directory for servers of a test, removed after everything that was opened later is closed. The test runner removes
 * its own directories before any teardown.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Call it before anything is opened in it: teardown runs in reverse order. */
export function tempDir(t: { teardown(close: () => unknown): unknown }): string {
  const dir = mkdtempSync(join(tmpdir(), 'weir test '))
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  return dir
}
