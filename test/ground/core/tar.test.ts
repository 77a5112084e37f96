/** Archives are read by tar itself, and by Weir again. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  readTarHeader,
  tarEnd,
  tarEntry,
  tarHeaderBytes,
  tarRoomFor,
} from '../../../src/ground/core/files/tar.js'
import { tempDir } from '../../harness/temp-dir.js'

const bytes = fc.uint8Array({ maxLength: 2_000 })
const name = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,60}$/)
const files = fc.uniqueArray(fc.record({ name, bytes }), { selector: (file) => file.name, maxLength: 5 })

const archived = (of: readonly { readonly name: string; readonly bytes: Uint8Array }[]): Buffer =>
  Buffer.concat([...of.map((file) => tarEntry(file, 1_700_000_000_000)), tarEnd()])

t.test('what is written is read again, byte for byte', (t) => {
  fc.assert(
    fc.property(files, (of) => {
      const archive = archived(of)
      let at = 0
      for (const { name, bytes } of of) {
        const header = readTarHeader(archive.subarray(at, at + tarHeaderBytes))
        t.same(header, { name, size: bytes.length })
        const from = at + tarHeaderBytes
        if (Buffer.compare(archive.subarray(from, from + bytes.length), bytes) !== 0) return false
        at = from + tarRoomFor(bytes.length)
      }
      return readTarHeader(archive.subarray(at, at + tarHeaderBytes)) === undefined
    }),
  )
  t.end()
})

t.test('tar itself unpacks it', (t) => {
  const dir = tempDir(t)
  const content = Buffer.from('x'.repeat(513))
  writeFileSync(
    join(dir, 'a.tar'),
    archived([
      { name: 'one', bytes: content },
      { name: 'two', bytes: Buffer.alloc(0) },
    ]),
  )
  const { status, stderr } = spawnSync('tar', ['-xf', 'a.tar'], { cwd: dir, encoding: 'utf8' })
  t.equal(status, 0, stderr)
  t.same(readFileSync(join(dir, 'one')), content)
  t.equal(readFileSync(join(dir, 'two')).length, 0)
  t.end()
})

t.test('a damaged header, and a name that does not fit', (t) => {
  const header = tarEntry({ name: 'one', bytes: Buffer.alloc(0) }, 0)
  header[0] = 0x50
  t.throws(() => readTarHeader(header), /damaged/)
  t.throws(() => tarEntry({ name: 'x'.repeat(101), bytes: Buffer.alloc(0) }, 0), /too long/)
  t.end()
})
