/**
 * Can this commit be released as the version of package.json? Changes nothing and tags nothing.
 *
 *     node config/release.mjs
 *
 * Prints what is wrong, with exit code 1, or the command that tags the commit. Packs the commit as two builders would, and
 * writes the list of what is shipped to `dist/sbom.cdx.json`.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { argv, execPath, exit, stderr, stdout } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Files that name the version, each by what stands before it.
 *
 * @type {Readonly<Record<string, RegExp>>}
 */
export const namings = {
  'docker-compose.yml': /\bimage: weir:([\w.-]+)/g,
  'docs/api.md': /weir-events-weir-([\w.-]+?)\.tgz/g,
  'docs/cli.md': /`([\w.-]+) \(built from/g,
  'docs/install.md': /(?:weir-events-weir-([\w.-]+?)\.tgz|^([\w.-]+) \(built from)/gm,
  'docs/operating.md': /"version": "([\w.-]+)"/g,
}

/**
 * What the files say that is not of this version, a sentence each.
 *
 * @param {(file: string) => string} read
 * @returns {string[]}
 */
export function versionProblems(read) {
  const { version } = JSON.parse(read('package.json'))
  const lock = JSON.parse(read('package-lock.json'))
  const problems = [lock.version, lock.packages[''].version]
    .filter((locked) => locked !== version)
    .map((locked) => `package-lock.json has version ${locked}, and package.json ${version}.`)
  for (const [file, form] of Object.entries(namings)) {
    const named = [...read(file).matchAll(form)].map((found) => found.slice(1).find(Boolean))
    if (named.length === 0) problems.push(`${file} does not name the version in the form ${form}.`)
    for (const other of new Set(named.filter((each) => each !== version)))
      problems.push(`${file} names version ${other}, and package.json ${version}.`)
  }
  if (!read('docs/upgrading.md').includes(`\n### ${version}\n`))
    problems.push(`docs/upgrading.md has no section on ${version}.`)
  return [...problems, ...changelogProblems(read('CHANGELOG.md'), version)]
}

/**
 * @param {string} changelog
 * @param {string} version
 * @returns {string[]}
 */
function changelogProblems(changelog, version) {
  const [, ...sections] = changelog.split(/^## /m)
  const [unreleased = '', newest = ''] = sections
  if (!/^\[Unreleased\]\s*$/.test(unreleased))
    return ['The first section of CHANGELOG.md must be "[Unreleased]", with nothing in it.']
  const [heading = '', ...lines] = newest.split('\n')
  const isOurs = heading.startsWith(`[${version}] - `) && /^\S+ - \d{4}-\d{2}-\d{2}$/.test(heading)
  if (!isOurs) return [`The newest version of CHANGELOG.md is "${heading}", not "[${version}] - " and a day.`]
  return lines.some((line) => line.startsWith('- ')) ? [] : [`CHANGELOG.md says nothing about ${version}.`]
}

/**
 * @param {string} version
 * @returns {string[]}
 */
function commitProblems(version) {
  const git = (/** @type {string[]} */ ...words) =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain')
  const elsewhere =
    git('tag', '--list', `v${version}`) !== '' && git('tag', '--points-at', 'HEAD', `v${version}`) === ''
  return [
    ...(changed === '' ? [] : [`The tree has changes that are not committed:\n${changed}`]),
    ...(elsewhere ? [`The tag v${version} is at another commit.`] : []),
  ]
}

function main() {
  const read = (/** @type {string} */ file) => readFileSync(join(root, file), 'utf8')
  const { version } = JSON.parse(read('package.json'))
  const problems = [...versionProblems(read), ...commitProblems(version)]
  for (const problem of problems) stderr.write(`release: ${problem}\n`)
  if (problems.length > 0) exit(1)
  for (const words of [['config/compare-packages.mjs'], ['config/sbom.mjs', 'dist/sbom.cdx.json']])
    execFileSync(execPath, words, { cwd: root, stdio: 'inherit' })
  stdout.write(`This commit can be ${version}. After .ci/run and npm run upgrade: git tag v${version}\n`)
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(resolve(argv[1])).href) main()
