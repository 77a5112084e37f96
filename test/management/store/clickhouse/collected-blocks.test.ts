/** Blocks that are collected for an insert: in memory for a server, in a file for the embedded engine. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ReleasedBuffers } from '../../../../src/ground/core/released-buffers.js'
import { BlocksInFile, BlocksInMemory } from '../../../../src/management/store/clickhouse/collected-blocks.js'
import { tempDir } from '../../../harness/temp-dir.js'

const blocks = ['first', '', 'a longer one', 'last'].map((text) => Buffer.from(text))

t.test('the blocks are there in the order in which they came', async (t) => {
  const file = join(tempDir(t), 'blocks')
  for (const collected of [new BlocksInMemory(), new BlocksInFile(file, new ReleasedBuffers())]) {
    t.strictSame(await collected.all(), [])
    for (const block of blocks) await collected.add(block)
    t.strictSame(
      (await collected.all()).map((block) => Buffer.from(block).toString()),
      blocks.map(String),
    )
    if (collected.file !== undefined) {
      t.equal(readFileSync(collected.file, 'utf8'), blocks.join(''), 'a statement can read them')
      t.equal(statSync(collected.file).mode & 0o777, 0o600)
    }
    await collected.drop()
    t.notOk(existsSync(file))
  }
})

t.test('a file is dropped that no block was written to', async (t) => {
  const file = join(tempDir(t), 'blocks')
  await new BlocksInFile(file, new ReleasedBuffers()).drop()
  t.notOk(existsSync(file))
})

t.test('a block that could not be written is no part of them', async (t) => {
  const file = join(tempDir(t), 'missing', 'blocks')
  const collected = new BlocksInFile(file, new ReleasedBuffers())
  await t.rejects(collected.add(Buffer.from('lost')), { code: 'ENOENT' })
  t.strictSame(await collected.all(), [])
})
