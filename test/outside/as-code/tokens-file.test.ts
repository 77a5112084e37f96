/** The file of tokens that are shown once. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keepToken, openTokens } from '../../../src/outside/as-code/tokens-file.js'
import { tempDir } from '../../harness/temp-dir.js'

t.test('a file that others could read is closed to them, and keeps its lines', async (t) => {
  const file = join(tempDir(t), 'tokens')
  writeFileSync(file, 'before\n', { mode: 0o644 })
  openTokens(file)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const token = { section: 'keys', name: 'a', id: 'ak_1', token: 'secret' }
  keepToken(file, token)
  t.equal(readFileSync(file, 'utf8'), `before\n${JSON.stringify(token)}\n`)
})

t.test('a file that cannot be written is a fault', async (t) => {
  t.throws(() => openTokens(join(tempDir(t), 'none', 'tokens')), /can't keep tokens: ENOENT/)
})
