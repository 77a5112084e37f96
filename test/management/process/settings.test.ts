import { readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { destinationKinds } from '../../../src/delivery/deliver/kinds.js'
import { mayHave } from '../../../src/management/process/role-secrets.js'
import { SettingsError } from '../../../src/management/process/secret-files.js'
import {
  addSecretKey,
  keepFirstSecretKey,
  openSealer,
  secretKeys,
} from '../../../src/management/process/secret-key.js'
import { settingNames } from '../../../src/management/process/setting-layers.js'
import {
  describeChanged,
  describeSettings,
  loadSettings,
  localNatsServerEnvironment,
} from '../../../src/management/process/settings.js'

const key = Buffer.alloc(32, 7).toString('base64')
const mebibyte = 1024 ** 2

t.test('the defaults', (t) => {
  const { settings, warnings } = loadSettings({ environment: {} })
  t.strictSame(warnings, [])
  t.match(settings, {
    api: {
      host: '127.0.0.1',
      port: 8080,
      baseUrl: undefined,
      bootstrapToken: undefined,
      versionHeaders: ['Service-Version'],
      tcpDomain: 'weir.localhost',
      rateLimitPerMinute: 1200,
      trustedProxies: undefined,
    },
    ops: { port: 0, logLevel: 'info' },
    data: { dir: join(process.cwd(), 'data'), secretKey: undefined },
    nats: {
      servers: undefined,
      localPort: 0,
      inboxPrefix: '_INBOX',
      replicas: 1,
      retentionMs: 72 * 3_600_000,
    },
    clickhouse: { url: undefined },
    aws: {
      endpointUrl: undefined,
      stsEndpointUrl: undefined,
    },
    destinationKinds: {
      kinesis: { endpointUrl: undefined, requestBytesMax: 5 * mebibyte },
      firehose: { endpointUrl: undefined, requestBytesMax: 4 * mebibyte },
      cloudwatch_logs: { endpointUrl: undefined, requestBytesMax: mebibyte },
      s3: { endpointUrl: undefined, requestBytesMax: 32 * mebibyte },
      sqs: { endpointUrl: undefined, requestBytesMax: mebibyte },
      eventbridge: { endpointUrl: undefined, requestBytesMax: mebibyte - 1024 },
    },
  })
  t.equal(settings.nats.storageMaxBytes, 8 * 1024 * mebibyte)
  t.match(settings.geo.databases, [/dbip-country\.mmdb$/, /dist\/geo\/asn\.mmdb$/])
  t.ok(statSync(settings.geo.databases[0] ?? '').size > 0, 'the bundled database is there')
  t.throws(() => Object.assign(settings.api, { port: 1 }), TypeError, 'groups are frozen')
  t.end()
})

t.test('the manual has every setting, each behind a comment that names its variable', (t) => {
  const manual = readFileSync('config/default.jsonc', 'utf8')
  for (const name of settingNames.filter((name) => !name.startsWith('AWS_ENDPOINT_URL_'))) {
    t.match(manual, new RegExp(`//.*\\b${name}\\b`), name)
  }
  t.end()
})

t.test('the manual has the settings of every destination kind, with the defaults of its declaration', (t) => {
  const manual = readFileSync('config/default.jsonc', 'utf8').toLowerCase()
  const { settings } = loadSettings({ environment: {} })
  for (const { name, endpointSetting, requestBytes } of destinationKinds) {
    t.equal(settings.destinationKinds[name]?.requestBytesMax, requestBytes.default, name)
    for (const setting of [`${name}_request_max`, endpointSetting ?? 'port'])
      t.ok(manual.includes(`"${setting.replaceAll('_', '').toLowerCase()}":`), setting)
  }
  t.end()
})

t.test(
  'the local nats-server uses half of the cores at a time, unless an operator says otherwise',
  async (t) => {
    const half = String(Math.ceil(availableParallelism() / 2))
    t.strictSame(localNatsServerEnvironment({ PATH: '/bin' }), { GOMAXPROCS: half, PATH: '/bin' })
    t.strictSame(localNatsServerEnvironment({ GOMAXPROCS: '7' }), { GOMAXPROCS: '7' })
  },
)

const values = [
  { name: 'a port', set: { WEIR_PORT: '0' }, want: { api: { port: 0 } } },
  { name: 'several pipelines', set: { WEIR_PIPELINES: '3' }, want: { workers: { pipelines: 3 } } },
  { name: 'an empty variable is unset', set: { WEIR_PORT: '' }, want: { api: { port: 8080 } } },
  {
    name: 'a base URL loses its last slash',
    set: { WEIR_BASE_URL: 'https://a.example/weir/' },
    want: { api: { baseUrl: 'https://a.example/weir' } },
  },
  {
    name: 'several version headers',
    set: { WEIR_VERSION_HEADERS: 'A-Version, B-Version' },
    want: { api: { versionHeaders: ['A-Version', 'B-Version'] } },
  },
  {
    name: 'an address is a network of one',
    set: { WEIR_TRUST_PROXY: '10.0.0.0/8,::1' },
    want: { api: { trustedProxies: ['10.0.0.0/8', '::1/128'] } },
  },
  { name: 'a duration in days', set: { WEIR_RETENTION: '7d' }, want: { nats: { retentionMs: 604_800_000 } } },
  {
    name: 'a size in MiB',
    set: { WEIR_STORAGE_MAX: '64MiB' },
    want: { nats: { storageMaxBytes: 64 * mebibyte } },
  },
  {
    name: 'smaller requests',
    set: { WEIR_KINESIS_REQUEST_MAX: '10MiB', WEIR_CLOUDWATCH_LOGS_REQUEST_MAX: '64KiB' },
    want: {
      destinationKinds: {
        kinesis: { requestBytesMax: 10 * mebibyte },
        cloudwatch_logs: { requestBytesMax: 65_536 },
      },
    },
  },
  {
    name: 'several NATS servers, one without a scheme',
    set: { NATS_URL: 'nats://u:p@a:4222,b:4222' },
    want: { nats: { servers: ['nats://u:p@a:4222', 'nats://b:4222'] } },
  },
  {
    name: 'ClickHouse with the key',
    set: { CLICKHOUSE_URL: 'http://u:p@h:8123/db', WEIR_SECRET_KEY: key },
    want: { clickhouse: { url: 'http://u:p@h:8123/db' } },
  },
  {
    name: 'a cluster, and a volume for old rows',
    set: {
      CLICKHOUSE_URL: 'http://h:8123',
      WEIR_SECRET_KEY: key,
      CLICKHOUSE_CLUSTER: 'prod-1',
      WEIR_DECISION_LOG_STORAGE_POLICY: 'tiers',
      WEIR_DECISION_LOG_VOLUME: 'cold',
      WEIR_DECISION_LOG_MOVE_AFTER: '6h',
    },
    want: {
      clickhouse: { cluster: 'prod-1' },
      decisionLog: { storagePolicy: 'tiers', volume: 'cold', moveAfterMs: 6 * 60 * 60_000 },
    },
  },
  {
    name: 'AWS per service',
    set: { AWS_ENDPOINT_URL_KINESIS: 'http://127.0.0.1:4566' },
    want: { destinationKinds: { kinesis: { endpointUrl: 'http://127.0.0.1:4566' } } },
  },
  {
    name: 'a role that runs alone answers on a port that was chosen',
    set: { WEIR_PORT: '9000' },
    want: { ops: { port: 9000 } },
  },
  {
    name: 'its own port wins',
    set: { WEIR_PORT: '9000', WEIR_OPS_PORT: '9001' },
    want: { ops: { port: 9001 } },
  },
]

t.test('values', (t) => {
  for (const { name, set, want } of values) t.match(loadSettings({ environment: set }).settings, want, name)
  t.end()
})

const server = { CLICKHOUSE_URL: 'http://h:8123', WEIR_SECRET_KEY: key }

const refused = [
  { name: 'a port that is no number', set: { WEIR_PORT: '80a' }, says: ['WEIR_PORT', '"80a"', '0 to 65535'] },
  { name: 'a port beyond the last', set: { WEIR_PORT: '65536' }, says: ['WEIR_PORT'] },
  {
    name: 'a base URL of another scheme',
    set: { WEIR_BASE_URL: 'ftp://x' },
    says: ['WEIR_BASE_URL', 'http://'],
  },
  {
    name: 'a mask beyond the address',
    set: { WEIR_TRUST_PROXY: '10.0.0.0/33' },
    says: ['WEIR_TRUST_PROXY is "10.0.0.0/33": it must be CIDRs such as 10.0.0.0/8, separated by commas.'],
  },
  { name: 'a duration without a unit', set: { WEIR_RETENTION: '72' }, says: ['WEIR_RETENTION', '72h'] },
  {
    name: 'requests larger than the service takes',
    set: { WEIR_FIREHOSE_REQUEST_MAX: '5MiB' },
    says: ['WEIR_FIREHOSE_REQUEST_MAX', 'from 64 KiB to 4 MiB', '512KiB'],
  },
  {
    name: 'requests smaller than makes sense',
    set: { WEIR_KINESIS_REQUEST_MAX: '63KiB' },
    says: ['WEIR_KINESIS_REQUEST_MAX', 'from 64 KiB to 10 MiB'],
  },
  { name: 'a size without a unit', set: { WEIR_STORAGE_MAX: '8' }, says: ['WEIR_STORAGE_MAX', '8GiB'] },
  { name: 'no replicas', set: { WEIR_NATS_REPLICAS: '0' }, says: ['WEIR_NATS_REPLICAS', '1 to 5'] },
  { name: 'a list of nothing', set: { WEIR_VERSION_HEADERS: ',' }, says: ['WEIR_VERSION_HEADERS'] },
  {
    name: 'ClickHouse without the key',
    set: { CLICKHOUSE_URL: 'http://h:8123' },
    says: ['WEIR_SECRET_KEY', 'required'],
  },
  {
    name: 'a cluster without a server',
    set: { CLICKHOUSE_CLUSTER: 'prod' },
    says: ['CLICKHOUSE_CLUSTER is set, so CLICKHOUSE_URL is required'],
  },
  {
    name: 'a name of a cluster that is none',
    set: { ...server, CLICKHOUSE_CLUSTER: "it's" },
    says: ['CLICKHOUSE_CLUSTER is "it\'s"', 'begins with a letter'],
  },
  {
    name: 'a volume of the embedded ClickHouse',
    set: { WEIR_DECISION_LOG_VOLUME: 'cold' },
    says: ['WEIR_DECISION_LOG_VOLUME is set, so CLICKHOUSE_URL is required'],
  },
  {
    name: 'a volume without a policy',
    set: { ...server, WEIR_DECISION_LOG_VOLUME: 'cold' },
    says: ['so WEIR_DECISION_LOG_STORAGE_POLICY is required'],
  },
  {
    name: 'a policy without a volume',
    set: { ...server, WEIR_DECISION_LOG_STORAGE_POLICY: 'tiers' },
    says: ['so WEIR_DECISION_LOG_VOLUME is required'],
  },
  {
    name: 'rows that expire before they move',
    set: {
      ...server,
      WEIR_DECISION_LOG_STORAGE_POLICY: 'tiers',
      WEIR_DECISION_LOG_VOLUME: 'cold',
      WEIR_RETENTION: '24h',
    },
    says: ['WEIR_DECISION_LOG_MOVE_AFTER must be less than WEIR_RETENTION'],
  },
  {
    name: 'a short token',
    set: { WEIR_BOOTSTRAP_TOKEN: 'too-short' },
    says: ['WEIR_BOOTSTRAP_TOKEN', '16 to 128'],
    hides: 'too-short',
  },
  {
    name: 'a key of the wrong length',
    set: { WEIR_SECRET_KEY: 'c2hvcnQ=' },
    says: ['WEIR_SECRET_KEY', '32 bytes'],
    hides: 'c2hvcnQ',
  },
  {
    name: 'a password in an address',
    set: { NATS_URL: 'http://u:hunter2@h' },
    says: ['NATS_URL'],
    hides: 'hunter2',
  },
]

t.test('refused, with a sentence that says why', (t) => {
  for (const { name, set, says, hides } of refused) {
    const error = thrown(() => loadSettings({ environment: set }))
    t.ok(error instanceof SettingsError, name)
    for (const part of says) t.ok(error?.message.includes(part), `${name}: names ${part}`)
    if (hides !== undefined) t.notOk(error?.message.includes(hides), `${name}: hides the secret`)
  }
  t.end()
})

t.test('a secret in a file', (t) => {
  const dir = t.testdir({
    key: `${key}\n`,
    windows: `${key}\r\n`,
    nats: 'nats://u:hunter2@h',
    'mine.jsonc': JSON.stringify({ secretKeyFile: join(t.testdirName, 'key') }),
  })
  const at = (name: string) => join(dir, name)
  for (const [name, environment, file] of [
    ['with a line break at its end', { WEIR_SECRET_KEY_FILE: at('key') }, undefined],
    ['with one of Windows', { WEIR_SECRET_KEY_FILE: at('windows') }, undefined],
    [
      'with an empty variable of the other name',
      { WEIR_SECRET_KEY_FILE: at('key'), WEIR_SECRET_KEY: '' },
      undefined,
    ],
    ['named by a file of settings', {}, at('mine.jsonc')],
    ['the environment wins', { WEIR_SECRET_KEY: key }, at('mine.jsonc')],
  ] as const) {
    const { settings, warnings } = loadSettings({ environment, file })
    t.equal(settings.data.secretKey, key, name)
    t.strictSame(warnings, [], name)
    t.notOk(JSON.stringify(describeSettings(settings)).includes(key), `${name}: it is not shown`)
  }
  const other = { WEIR_SECRET_KEY: Buffer.alloc(32, 8).toString('base64') }
  t.equal(
    loadSettings({ environment: other, file: at('mine.jsonc') }).settings.data.secretKey,
    other.WEIR_SECRET_KEY,
  )
  const { settings } = loadSettings({ environment: { NATS_URL_FILE: at('nats') } })
  t.strictSame(settings.nats.servers, ['nats://u:hunter2@h'], 'an address with a password')
  t.match(describeSettings(settings)['NATS_URL'], '***')
  t.end()
})

t.test('every secret may be in a file, and a process that may not have it does not read it', (t) => {
  const names = [
    'CLICKHOUSE_URL',
    'NATS_URL',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'OTEL_EXPORTER_OTLP_LOGS_HEADERS',
    'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    'WEIR_API_KEY',
    'WEIR_BOOTSTRAP_TOKEN',
    'WEIR_SECRET_KEY',
    'WEIR_TRIAL_NATS_URL',
  ]
  const inFiles = settingNames.filter((name) => name.endsWith('_FILE'))
  t.strictSame(inFiles.toSorted(), names.map((name) => `${name}_FILE`).toSorted())
  for (const name of names) {
    const environment = { [`${name}_FILE`]: '/nowhere' }
    t.throws(
      () => loadSettings({ environment }),
      new RegExp(`^${name}_FILE names /nowhere, which can't be read: .*ENOENT`),
    )
    t.doesNotThrow(() => loadSettings({ environment, secrets: [] }), name)
    t.ok(mayHave(`${name}_FILE`, [name]) && !mayHave(`${name}_FILE`, []), name)
  }
  t.end()
})

t.test('files of secrets that are refused', (t) => {
  const dir = t.testdir({
    key,
    empty: '\n',
    large: 'x'.repeat(65 * 1024),
    short: 'hunter2',
    folder: {},
    'both.jsonc': JSON.stringify({ secretKey: key, secretKeyFile: '/nowhere' }),
  })
  const at = (name: string) => join(dir, name)
  const cases: readonly (readonly [name: string, Record<string, string>, says: RegExp])[] = [
    [
      'empty',
      { WEIR_SECRET_KEY_FILE: at('empty') },
      /^WEIR_SECRET_KEY_FILE names \S+empty, which is empty\.$/,
    ],
    [
      'a directory',
      { WEIR_SECRET_KEY_FILE: at('folder') },
      /folder, which can't be read: it is not a file\.$/,
    ],
    [
      'too large',
      { WEIR_SECRET_KEY_FILE: at('large') },
      /large, which can't be read: it is larger than 64 KiB\.$/,
    ],
    [
      'malformed',
      { WEIR_SECRET_KEY_FILE: at('short') },
      /^WEIR_SECRET_KEY_FILE names \S+short, whose content is malformed: it must be 32 bytes/,
    ],
    [
      'an address that is none',
      { CLICKHOUSE_URL_FILE: at('short') },
      /short, whose content is malformed: it must be an http/,
    ],
    [
      'both',
      { WEIR_SECRET_KEY: key, WEIR_SECRET_KEY_FILE: at('key') },
      /^WEIR_SECRET_KEY and WEIR_SECRET_KEY_FILE are both set: one must go\.$/,
    ],
  ]
  for (const [name, environment, says] of cases) {
    const error = thrown(() => loadSettings({ environment }))
    t.ok(error instanceof SettingsError, name)
    t.match(error?.message, says, name)
    t.notMatch(error?.message, 'hunter2', `${name}: hides the secret`)
  }
  const both = thrown(() => loadSettings({ environment: {}, file: at('both.jsonc') }))
  t.match(both?.message, /both\.jsonc:1: secretKey and \S+both\.jsonc:1: secretKeyFile are both set/)
  t.end()
})

const files = [
  {
    name: 'comments and a comma at the end',
    text: '{\n  // ours\n  "port": 9000,\n}',
    want: { api: { port: 9000 } },
  },
  { name: 'a number as text', text: '{"port": "9000"}', want: { api: { port: 9000 } } },
  { name: 'null leaves the default', text: '{"port": null}', want: { api: { port: 8080 } } },
  {
    name: 'a list',
    text: '{"trustProxy": ["10.0.0.0/8", "192.0.2.1"]}',
    want: { api: { trustedProxies: ['10.0.0.0/8', '192.0.2.1/32'] } },
  },
]

const badFiles = [
  { name: 'an unknown key', text: '{\n\n  "storageMx": "1GiB"}', says: [':3', '"storageMx"', 'storageMax'] },
  { name: 'a bad value', text: '{\n  "port": "x"}', says: [':2', 'port', '0 to 65535'] },
  { name: 'a value of another type', text: '{"port": true}', says: [':1', 'port'] },
  { name: 'a list where one value belongs', text: '{"port": ["1"]}', says: [':1', 'port'] },
  { name: 'a key twice', text: '{"port": 1,\n"port": 2}', says: [':2', 'port', 'twice'] },
  { name: 'no JSON', text: '{\n"port" 1}', says: [':2'] },
  { name: 'no object', text: '[]', says: ['object'] },
]

t.test('files', (t) => {
  for (const { name, text, want } of files) t.match(loadFile(t.testdir({ 'a.jsonc': text })), want, name)
  for (const { name, text, says } of badFiles) {
    const error = thrown(() => loadFile(t.testdir({ 'a.jsonc': text })))
    t.ok(error instanceof SettingsError, name)
    for (const part of says) t.ok(error?.message.includes(part), `${name}: names ${part}`)
  }
  t.throws(() => loadSettings({ file: join(t.testdir(), 'absent.jsonc'), environment: {} }), /can't be read/)
  t.end()
})

t.test('the environment wins over a file, a file over the defaults', (t) => {
  const dir = t.testdir({ 'mine.jsonc': '{"port": 9000, "host": "::1"}' })
  const { settings } = loadSettings({ file: join(dir, 'mine.jsonc'), environment: { WEIR_PORT: '9001' } })
  t.match(settings.api, { port: 9001, host: '::1', tcpDomain: 'weir.localhost' })
  t.end()
})

t.test('an unknown variable of ours is a warning that names the nearest', (t) => {
  const { warnings } = loadSettings({
    environment: { WEIR_PROT: '1', PATH: '/bin', WEIR_ZZZZZZZZZZZZZZZZ: '1' },
  })
  t.equal(warnings.length, 2)
  t.match(warnings[0], /WEIR_PROT .*WEIR_PORT\?/)
  t.notMatch(warnings[1], /Did you mean/)
  t.end()
})

t.test('a variable with a prefix of others is a warning only if it is one slip away', (t) => {
  const slips = ['NATS_URI', 'CLICKHOUSE_UR', 'OTEL_EXPORTER_OTLP_ENDPOIN']
  // Of Kubernetes, of ClickHouse's image, and of OpenTelemetry.
  const others = ['NATS_PORT', 'NATS_SERVICE_HOST', 'CLICKHOUSE_DB', 'CLICKHOUSE_USER', 'OTEL_LOG_LEVEL']
  const environment = Object.fromEntries([...slips, ...others].map((name) => [name, 'x']))
  const { warnings } = loadSettings({ environment })
  t.strictSame(
    warnings,
    ['NATS_URL', 'CLICKHOUSE_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT'].map(
      (near, n) => `Unknown setting ${slips[n]} was ignored. Did you mean ${near}?`,
    ),
  )
  t.end()
})

t.test('what was chosen is described without secrets', (t) => {
  const environment = {
    NATS_URL: 'nats://user:hunter2@a:4222,nats://token@b:4222',
    CLICKHOUSE_URL: 'http://u:hunter2@h:8123/db',
    WEIR_SECRET_KEY: key,
    WEIR_BOOTSTRAP_TOKEN: 'bootstrap-token-1',
  }
  const described = describeSettings(loadSettings({ environment }).settings)
  t.equal(described['NATS_URL'], 'nats://***@a:4222,nats://***@b:4222')
  t.equal(described['WEIR_PORT'], '8080')
  t.equal(described['WEIR_RETENTION'], '72h')
  t.equal(described['WEIR_STORAGE_MAX'], '8GiB')
  t.notOk('AWS_ENDPOINT_URL' in described, 'what is unset is left out')
  for (const secret of ['hunter2', key, 'bootstrap-token-1']) {
    t.notOk(JSON.stringify(described).includes(secret), 'no secret')
  }
  t.end()
})

t.test('what differs from the defaults is described, in the units of people', (t) => {
  const changed = (environment: Readonly<Record<string, string>>) =>
    describeChanged(loadSettings({ environment }).settings)
  t.strictSame(changed({}), {})
  t.strictSame(changed({ WEIR_RETENTION: '3d', WEIR_STORAGE_MAX: '8192MiB' }), {}, 'other words for the same')
  t.strictSame(
    changed({
      WEIR_RETENTION: '90m',
      WEIR_STORAGE_MAX: '512MiB',
      WEIR_DECISION_LOG_MAX: '2TiB',
      WEIR_KINESIS_REQUEST_MAX: '1000KB',
      WEIR_SECRET_KEY: key,
      NATS_URL: 'nats://user:hunter2@a:4222',
    }),
    {
      WEIR_RETENTION: '90m',
      WEIR_STORAGE_MAX: '512MiB',
      WEIR_DECISION_LOG_MAX: '2TiB',
      WEIR_KINESIS_REQUEST_MAX: '1000000B',
      WEIR_SECRET_KEY: '(set)',
      NATS_URL: 'nats://***@a:4222',
    },
  )
  t.end()
})

t.test('the secret key', (t) => {
  const dir = join(t.testdir(), 'new', 'data')
  const data = { dir, secretKey: undefined }
  const [made] = secretKeys(data)
  t.equal(made?.length, 32)
  t.strictSame(secretKeys(data), [made], 'is kept')
  const isPrivate = () => t.equal(statSync(join(dir, 'secret.key')).mode & 0o777, 0o600)
  isPrivate()
  const sealer = openSealer(data)
  const before = sealer.seal('secret', 'owner')
  addSecretKey(data)
  isPrivate()
  t.match(secretKeys(data), { length: 2, 1: made }, 'a new one comes before it')
  const young = openSealer(data).seal('secret', 'owner')
  t.equal(sealer.unseal(young, 'owner'), 'secret', 'a process with the keys of before finds the new one')
  t.notOk(sealer.isCurrent(before, 'owner'))
  t.ok(sealer.isCurrent(young, 'owner'))
  keepFirstSecretKey(data)
  t.equal(openSealer(data).unseal(young, 'owner'), 'secret')
  t.throws(() => openSealer(data).unseal(before, 'owner'), 'the earlier key is gone')
  const [one] = secretKeys({ dir, secretKey: `${key},${key}` })
  t.equal(one?.toString('base64'), key, 'a setting wins')
  const damaged = { dir: t.testdir({ 'secret.key': 'c2hvcnQ=' }), secretKey: undefined }
  t.throws(() => secretKeys(damaged), /damaged/)
  t.end()
})

function loadFile(dir: string) {
  return loadSettings({ file: join(dir, 'a.jsonc'), environment: {} }).settings
}

function thrown(act: () => unknown): Error | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return error as Error
  }
}
