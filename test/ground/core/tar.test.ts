/** Archives are read by tar itself. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tarEnd, tarEntry } from '../../../src/ground/core/tar.js'
import { tempDir } from '../../harness/temp-dir.js'

t.test('tar itself unpacks it', (t) => {
  const dir = tempDir(t)
  const files = [
    { name: 'one', bytes: Buffer.from('x'.repeat(513)) },
    { name: 'two', bytes: Buffer.alloc(0) },
    { name: 'three', bytes: Buffer.alloc(1024, 7) },
  ]
  const archive = Buffer.concat([...files.map((file) => tarEntry(file, 1_700_000_000_000)), tarEnd()])
  writeFileSync(join(dir, 'a.tar'), archive)
  const { status, stderr } = spawnSync('tar', ['-xf', 'a.tar'], { cwd: dir, encoding: 'utf8' })
  t.equal(status, 0, stderr)
  for (const { name, bytes } of files) t.same(readFileSync(join(dir, name)), bytes, name)
  t.end()
})

t.test('a name that does not fit', (t) => {
  t.throws(() => tarEntry({ name: 'x'.repeat(101), bytes: Buffer.alloc(0) }, 0), /too long/)
  t.end()
})
