/** Paths that a person may name by mistake: nothing is waited for, and no more is read than is allowed. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readBounded, readInput } from '../../../src/ground/core/files/bounded-file.js'
import { tempDir } from '../../harness/temp-dir.js'

const bytesMax = 1024 * 1024

t.test('a file with as many bytes as are allowed', (t) => {
  const file = join(tempDir(t), 'whole')
  const bytes = Buffer.from(Array.from({ length: bytesMax }, (_, index) => index % 251))
  writeFileSync(file, bytes)
  t.ok(readBounded(file, bytesMax).equals(bytes))
  writeFileSync(file, '')
  t.equal(readInput(file, bytesMax).length, 0)
  t.end()
})

t.test('what is not read', (t) => {
  const dir = tempDir(t)
  const [large, pipe] = [join(dir, 'large'), join(dir, 'pipe')]
  writeFileSync(large, Buffer.alloc(bytesMax + 1))
  execFileSync('mkfifo', [pipe])
  const cases: readonly (readonly [path: string, reason: RegExp])[] = [
    ['/dev/zero', /^it is not a file$/],
    [pipe, /^it is not a file$/],
    [dir, /^it is not a file$/],
    [large, /^it is larger than 1 MiB$/],
    [join(dir, 'nothing'), /^ENOENT/],
  ]
  for (const [path, message] of cases) t.throws(() => readInput(path, bytesMax), { message }, path)
  t.throws(() => readInput(large, 7, 'too large'), { message: 'too large' })
  t.end()
})

t.test('a file whose size the system does not know', { skip: process.platform !== 'linux' }, (t) => {
  t.match(readBounded('/proc/self/status', bytesMax).toString(), /^Name:/)
  t.throws(() => readBounded('/proc/self/status', 10), { message: /larger/ })
  t.end()
})
