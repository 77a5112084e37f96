/** What a release needs to say of its version, now and if one of its places is forgotten. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'

const { versionProblems } = (await import(resolve('config/release.mjs'))) as {
  versionProblems: (read: (file: string) => string) => string[]
}

const read = (file: string): string => readFileSync(file, 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }

t.test('every place names the version of the package', async (t) => {
  // Between two releases, changes gather in the first section.
  const problems = versionProblems(read).filter(
    (problem) => !problem.includes('"[Unreleased]", with nothing in it'),
  )
  t.strictSame(problems, [])
})

const released = (changelog: string): string => `# Changelog\n\n## [Unreleased]\n\n${changelog}`
const ours = `## [${version}] - 2026-01-31\n\n- One thing.\n`

const cases = [
  { name: 'nothing is wrong', file: 'CHANGELOG.md', text: released(ours), says: undefined },
  {
    name: 'a change that no version has',
    file: 'CHANGELOG.md',
    text: `## [Unreleased]\n\n- A change.\n\n${ours}`,
    says: /must be "\[Unreleased\]", with nothing in it/,
  },
  {
    name: 'no section',
    file: 'CHANGELOG.md',
    text: released('## [0.0.1] - 2026-01-01\n'),
    says: /newest version of CHANGELOG/,
  },
  {
    name: 'no day',
    file: 'CHANGELOG.md',
    text: released(`## [${version}]\n`),
    says: /newest version of CHANGELOG/,
  },
  {
    name: 'an empty section',
    file: 'CHANGELOG.md',
    text: released(`## [${version}] - 2026-01-31\n`),
    says: /says nothing/,
  },
  {
    name: 'another image',
    file: 'docker-compose.yml',
    text: 'image: weir:0.0.1',
    says: /names version 0\.0\.1/,
  },
  { name: 'a place that is not found', file: 'docs/api.md', text: '', says: /does not name the version/ },
  { name: 'no word on upgrading', file: 'docs/upgrading.md', text: '# Upgrading\n', says: /has no section/ },
]

for (const { name, file, text, says } of cases)
  t.test(name, async (t) => {
    const changed = (each: string): string =>
      each === file ? text : each === 'CHANGELOG.md' ? released(ours) : read(each)
    const problems = versionProblems(changed)
    if (says === undefined) t.strictSame(problems, [])
    else t.match(problems, [says])
    t.equal(problems.length, says === undefined ? 0 : 1)
  })
