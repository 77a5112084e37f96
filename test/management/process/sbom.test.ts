/** The list of all that is shipped and comes from others. */
import { execFileSync, spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import t from 'tap'
import { Checks } from '../../harness/checks.js'

interface Component {
  readonly 'bom-ref': string
  readonly type: string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly scope: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
}

interface Bom {
  readonly bomFormat: string
  readonly specVersion: string
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

const text = execFileSync('node', ['config/sbom.mjs'], { encoding: 'utf8', maxBuffer: 2 ** 26 })
const { bomFormat, specVersion, metadata, components, dependencies }: Bom = JSON.parse(text)
const ofEcosystem = (name: string) => components.filter(({ purl }) => purl.startsWith(`pkg:${name}/`))

t.test('it is CycloneDX, of Weir, and two lists are equal', (t) => {
  t.strictSame([bomFormat, specVersion], ['CycloneDX', '1.5'])
  t.match(metadata.component, { name: '@weir-events/weir', type: 'application' })
  t.equal(execFileSync('node', ['config/sbom.mjs'], { encoding: 'utf8', maxBuffer: 2 ** 26 }), text)
  t.end()
})

t.test('each component is named once, and each reference has one', (t) => {
  const checks = new Checks()
  const refs = new Set(components.map((component) => component['bom-ref']))
  checks.equal(refs.size, components.length, 'names are unique')
  for (const { name, version, purl, type } of components) {
    checks.ok(version !== '' && /^pkg:(npm|golang)\/[^@]+@[^@]+$/.test(purl), `${name}: ${purl}`)
    checks.ok(type === 'library' || name === 'nats-server', `${name}: ${type}`)
  }
  for (const { ref, dependsOn } of dependencies)
    for (const each of [ref, ...dependsOn])
      checks.ok(refs.has(each) || each === metadata.component['bom-ref'], `${ref}: ${each}`)
  checks.report(t)
  t.end()
})

t.test('every package that an installation has, and those in the built pages, but no tools', (t) => {
  const checks = new Checks()
  const names = new Set(ofEcosystem('npm').map(({ name }) => name))
  const { stdout } = spawnSync('npm', ['ls', '--all', '--parseable', '--omit=dev'], { encoding: 'utf8' })
  const installed = stdout
    .trim()
    .split('\n')
    .map((path) => relative('.', path).split('node_modules/').at(-1) ?? '')
    .filter((name) => name !== '')
  checks.ok(installed.length > 100, `${installed.length} of them`)
  for (const name of [
    ...installed,
    'preact',
    '@codemirror/view',
    'uplot',
    'heroicons',
    '@ip-location-db/asn',
  ])
    checks.ok(names.has(name), name)
  for (const name of ['tap', 'typescript', 'esbuild', 'fast-check', '@redocly/cli'])
    checks.ok(!names.has(name), `${name} is not shipped`)
  checks.report(t)
  t.end()
})

t.test('the nats-server that is brought, as Go itself lists its modules', (t) => {
  const server = join(
    homedir(),
    '.cache/weir/nats-server',
    `${process.platform}-${process.arch}`,
    'nats-server',
  )
  const { status, stdout } = spawnSync('go', ['version', '-m', server], { encoding: 'utf8' })
  if (status !== 0) {
    t.comment('skipped: there is no Go')
    t.end()
    return
  }
  const listed = stdout
    .split('\n')
    .map((line) => line.split('\t').slice(1))
    .filter(([kind]) => kind === 'mod' || kind === 'dep')
    .map(([, path, version]) => `pkg:golang/${path}@${version}`)
  const library = `pkg:golang/stdlib@${/: go(\S+)/.exec(stdout)?.[1]}`
  t.strictSame(
    ofEcosystem('golang')
      .map(({ purl }) => purl)
      .toSorted(),
    [...listed, library].toSorted(),
  )
  t.end()
})
