/** Which commit `weir --version` says that it was built from, in every place where programs are built. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { version, versionAndBuild } from '../../../src/ground/core/package.js'
import { tempDir } from '../../harness/temp-dir.js'

const { builtFrom, writeBuiltFrom } = await import(resolve('config/built-from.mjs'))

const git = (dir: string, ...words: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...words], { cwd: dir, encoding: 'utf8' })

/** A clone with one commit, of a day that is not today's. */
function clone(t: Test): { readonly dir: string; readonly commit: string } {
  const dir = tempDir(t)
  git(dir, 'init', '--quiet')
  writeFileSync(join(dir, 'source'), 'one')
  git(dir, 'add', '.')
  const env = { ...process.env, GIT_COMMITTER_DATE: '2025-02-03T04:05:06Z' }
  const words = ['-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--message', 'one']
  execFileSync('git', words, { cwd: dir, env })
  return { dir, commit: git(dir, 'rev-parse', 'HEAD').trim() }
}

t.test('in a clone: the commit and its day', (t) => {
  const { dir, commit } = clone(t)
  t.strictSame(builtFrom(dir, undefined), { commit, day: '2025-02-03', changed: false })
  t.strictSame(builtFrom(dir, ''), { commit, day: '2025-02-03', changed: false }, 'an empty variable is none')
  t.end()
})

t.test('in a clone with changes: that there are some', (t) => {
  const { dir, commit } = clone(t)
  writeFileSync(join(dir, 'source'), 'two')
  t.match(builtFrom(dir, undefined), { commit, changed: true })
  git(dir, 'checkout', '--quiet', '.')
  writeFileSync(join(dir, 'new'), 'one')
  t.match(builtFrom(dir, undefined), { commit, changed: true }, 'a file that git does not know yet')
  t.end()
})

t.test('without a clone: nothing, also inside of the clone of something else', (t) => {
  const { dir } = clone(t)
  mkdirSync(join(dir, 'inner'))
  t.equal(builtFrom(join(dir, 'inner'), undefined), undefined)
  t.end()
})

t.test('with a builder that is told the commit', (t) => {
  const commit = 'a'.repeat(40)
  t.strictSame(builtFrom('/', `${commit} 2025-02-03`), { commit, day: '2025-02-03', changed: false })
  for (const told of ['main', `${commit.slice(1)} 2025-02-03`, `${commit} yesterday`])
    t.throws(() => builtFrom('/', told), {
      message: `BUILT_FROM is "${told}": it must be a commit and a day`,
    })
  t.end()
})

t.test('what is noted is said, behind the version', (t) => {
  const file = join(tempDir(t), 'built-from.json')
  const commit = '774fa7d89717d3b251a6f793789f09c22150ae25'
  const said = [
    [{ commit, day: '2026-12-01', changed: false }, 'built from 774fa7d8 of 2026-12-01'],
    [{ commit, day: '2026-12-01', changed: true }, 'built from 774fa7d8 of 2026-12-01, with changes'],
    [undefined, 'built from an unknown commit'],
  ] as const
  for (const [from, text] of said) {
    writeBuiltFrom(file, from)
    t.equal(versionAndBuild(file), `${version} (${text})`)
  }
  t.end()
})
