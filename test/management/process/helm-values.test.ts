/** The values of the Helm chart as they stand in the repository: their table, their schema, and what is copied from elsewhere. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { natsConfig } from '../../../src/delivery/nats-server/nats-config.js'
import { natsAccess } from '../../../src/delivery/nats-server/nats-users.js'
import { secretSettings, secretsOf } from '../../../src/management/process/role-secrets.js'
import { settingNames } from '../../../src/management/process/setting-layers.js'
import { describedValues } from '../../docs/chart-table.js'
import { manifestsIn } from '../../harness/helm.js'

interface Schema {
  readonly $ref?: string
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

const file = (name: string): string => readFileSync(`config/helm/${name}`, 'utf8')
const schema = JSON.parse(file('values.schema.json')) as Schema & {
  readonly definitions: Readonly<Record<string, Schema>>
}

t.test('every value has a row in the table', (t) => {
  const { rows, missing } = describedValues(file('values.yaml'))
  t.strictSame(missing, [])
  t.ok(rows.length > 60, `${rows.length} rows`)
  for (const { path, about } of rows) t.match(about, /\.$|:\d+\.$/, `${path} is described by a sentence`)
  t.end()
})

t.test('a value without a comment is found missing', (t) => {
  const { rows, missing } = describedValues(
    '# -- A.\na: 1\nb:\n  # -- C.\n  c: {}\n  d: 2\n# Not marked.\ne: []\n',
  )
  t.strictSame(
    rows.map(({ path }) => path),
    ['a', 'b.c'],
  )
  t.strictSame(missing, ['b.d', 'e'])
  t.end()
})

/** The paths of members that a schema names, down to values of any form. */
function* named({ $ref, properties }: Schema, above = ''): Generator<string> {
  const of = $ref === undefined ? properties : schema.definitions[$ref.split('/').at(-1) ?? '']?.properties
  for (const [name, member] of Object.entries(of ?? {})) {
    yield `${above}${name}`
    yield* named(member, `${above}${name}.`)
  }
}

/** The paths of values. */
function* given(values: unknown, above = ''): Generator<string> {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return
  for (const [name, member] of Object.entries(values)) {
    yield `${above}${name}`
    yield* given(member, `${above}${name}.`)
  }
}

t.test('the schema names what values.yaml has, and nothing else', (t) => {
  const known = new Set(named(schema))
  const values = new Set(given(parse(file('values.yaml'))))
  // Requests and limits are those of Kubernetes; a chart above this one sets `global`.
  const isFree = (path: string): boolean => /\.resources\.\w+\./.test(path) || path === 'global'
  t.strictSame(
    [...values].filter((path) => !known.has(path) && !isFree(path)),
    [],
  )
  t.strictSame(
    [...known].filter((path) => !values.has(path) && !isFree(path)),
    [],
  )
  t.end()
})

t.test('secrets can not stand among the settings', (t) => {
  const secrets = new Set([...secretSettings, ...Object.values(secretsOf).flat()])
  t.strictSame(schema.definitions['secretVariable']?.enum?.toSorted(), [...secrets].toSorted())
  const fixed = schema.definitions['fixedVariable']?.enum ?? []
  for (const name of fixed) t.ok(settingNames.includes(name), name)
  t.end()
})

t.test('the accounts of NATS are those of `weir nats-config`; `npm run docs` writes them', (t) => {
  t.equal(file('files/nats-accounts.conf'), natsConfig(1, 1))
  const users = Object.values(natsAccess().accounts).flatMap((account) => account.users)
  const manifests = manifestsIn(execFileSync('sh', ['config/helm/secret.sh'], { encoding: 'utf8' }))
  const passwords = manifests.find(({ metadata }) => metadata.name === 'weir-nats')?.['stringData']
  const variables = [...users.map(({ name }) => name.toUpperCase()), 'ROUTES'].map(
    (name) => `NATS_${name}_PASSWORD`,
  )
  t.strictSame(Object.keys(passwords).toSorted(), variables.toSorted())
  t.equal(new Set(Object.values(passwords)).size, variables.length, 'each is another one')
  t.end()
})

t.test('secret.sh names the objects of another release, and its servers', (t) => {
  const text = execFileSync('sh', ['config/helm/secret.sh', 'edge', '1'], { encoding: 'utf8' })
  const [roles] = manifestsIn(text)
  t.match(roles?.['stringData']['nats-url-api'], /^nats:\/\/api:[0-9a-f]{48}@edge-nats-0\.edge-nats:4222$/)
  t.match(roles?.['stringData']['clickhouse-url'], /@edge-clickhouse:8123\/default$/)
  t.end()
})

t.test('the chart has the version of the package', (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.match(parse(file('Chart.yaml')), { version, appVersion: version })
  t.end()
})
