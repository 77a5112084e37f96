/** The configuration: entries of its buckets, rows, files, settings, backups, and what other systems answer. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartFault } from '../../../src/ground/core/errors.js'
import { readTarHeader, tarEnd, tarEntry } from '../../../src/ground/core/files/tar.js'
import { readYaml, withEntry, writeYaml } from '../../../src/ground/core/text/yaml.js'
import { readPolicyFile } from '../../../src/judging/evaluate/portable/policy-file.js'
import { SettingsError } from '../../../src/management/process/secret-files.js'
import { readEnvironment, readFile } from '../../../src/management/process/setting-layers.js'
import * as form from '../../../src/management/process/setting-value.js'
import { readBackup } from '../../../src/management/store/backup/archive.js'
import { parseManifest, sha256 } from '../../../src/management/store/backup/manifest.js'
import { decodeHead } from '../../../src/management/store/change/head-text.js'
import { decodeClaim } from '../../../src/management/store/claims/claim-holder.js'
import { decodeRow, rowEncoder } from '../../../src/management/store/clickhouse/tables.js'
import { written } from '../../../src/outside/as-code/export.js'
import { SourceFiles } from '../../../src/outside/as-code/source-files.js'
import { readProfiles } from '../../../src/outside/cli/connection/profiles.js'
import { imported, importedSystems } from '../../../src/outside/import/import.js'
import { parsed } from '../../../src/outside/import/input/document.js'
import { readAuditIn } from '../../../src/words/event/audit-in.js'
import { namesOfClaim } from '../../../src/words/resource/fields/claimed-names.js'
import { resources } from '../../../src/words/resource/registry.js'
import { checkedValue, secretsIn } from '../../../src/words/view/entry-values.js'
import { claimKey, claimOfKey, versionOfStaged } from '../../../src/words/view/keys.js'
import { isRowOf } from '../../../src/words/view/row-forms.js'
import {
  expectSame,
  expectThat,
  type FuzzedParser,
  type Outcome,
  ofResult,
  read,
  refused,
  tried,
} from '../engine/parser.js'
import { jsonIn } from './records.js'

const row = (kind: string, more: object) => ({
  id: `${kind}_1`,
  account_id: 'ac_1',
  version: 3,
  created_at: 1_764_064_800_000,
  ...more,
})

const rows = [
  row('ip_policy', { description: 'x', metadata: '', rules_generation: '0' }),
  row('tcp_edge', {
    description: '',
    metadata: '',
    hostports: ['a.example:22'],
    ip_restriction: null,
    policies: {
      enabled: true,
      inbound: [{ name: 'n', expressions: ['1 == 1'], actions: [{ type: 'deny' }] }],
      outbound: [],
    },
    backend: null,
  }),
  row('ip_list_chunk', { data: 'S0osSVUAAA==' }),
]

const values: Readonly<Record<string, unknown>> = {
  meta: { deployment_id: 'd', key_fingerprint: 'k', epoch: 1, accounts: 2 },
  'state.ac_1': { version: 3, stored: 3, counts: { tcp_edge: 1 } },
  'row.tcp_edge.tcp_edge_1': rows[1],
  'rules.ipp_1.0.0': {
    account_id: 'ac_1',
    rules: [row('ip_policy_rule', { ip_policy_id: 'ipp_1', cidr: '::/0', action: 'allow' })],
  },
  'row.later.x': row('later', {}),
}

/** A key, a line feed and the value. */
const entries: FuzzedParser = {
  name: 'entries of the configuration',
  sources: ['entry-values', 'row-forms', 'keys']
    .map((name) => `words/view/${name}.ts`)
    .concat('management/store/change/head-text.ts', 'management/store/claims/claim-holder.ts'),
  seeds: () => [
    ...Object.entries(values).map(([key, value]) => `${key}\n${JSON.stringify(value)}`),
    `head\n${JSON.stringify({ version: 3, recent: [], change: null })}`,
    `claim\n${JSON.stringify({ account_id: 'ac_1', id: 'x', version: 1 })}`,
    `secrets\n${JSON.stringify({ account_id: 'ac_1', version: 1, sealed: { a: 'v1.x' } })}`,
    'hostport.*.a.example:443',
  ],
  words: ['row.', 'rules.', 'constructor.', '\n{', '"counts":{', '"sealed":{', '"rules":['],
  keptPerByte: 200,
  read: (bytes) => {
    const end = bytes.indexOf(0x0a)
    const [key, value] = [bytes.subarray(0, Math.max(0, end)).toString(), bytes.subarray(end + 1)]
    expectSame(
      claimOfKey(claimKey(key)),
      Buffer.from(key).toString(),
      'a claim that is written and read again',
    )
    versionOfStaged(key)
    namesOfClaim(key, 'tcp.example')
    const found = [
      tried(() => checkedValue({ key, value, revision: 1 }), Error),
      ...[decodeHead, decodeClaim, secretsIn].map((decode) => tried(() => decode(value), Error)),
    ]
    return (
      found.find((each) => 'value' in each && each.value !== undefined) ??
      found.find((each) => 'refused' in each) ??
      read(undefined)
    )
  },
}

const changed = { changedAt: 1_764_064_800_000, changedBy: 'ak_1' } as never

const stored: FuzzedParser = {
  name: 'rows of resources',
  sources: ['management/store/clickhouse/tables.ts', 'words/view/row-forms.ts'],
  seeds: () => rows.map((each) => JSON.stringify(each)),
  words: ['"policies":{', '"hostports":[', '"created_at":', 'null'],
  keptPerByte: 800,
  msPerKiB: 20,
  read: (bytes) => {
    const json = jsonIn(bytes)
    if (json === undefined) return refused('It is not JSON.')
    const own = resources.filter(({ kind }) => isRowOf(kind, json.value))
    const found = own.map((resource) => {
      const encoded = rowEncoder(resource, changed)(json.value as never, false)
      const decoded = decodeRow(resource, encoded as never)
      const again = rowEncoder(resource, changed)(decoded, false)
      expectSame(
        again,
        rowEncoder(resource, changed)(decodeRow(resource, again as never), false),
        `a row of ${resource.kind} that is written and read again`,
      )
      return decoded
    })
    return found.length === 0 ? refused('It is a row of no kind.') : read(found)
  },
}

const auditedAccount = 'ac_01M7Y46P1SGDTCFAVEJ96D4PD7'
const auditSeed = JSON.stringify({
  account_id: auditedAccount,
  object: { id: 'ipp_01M7Y46P1SGDTCFAVEJ96D4PD7', uri: 'x', created_at: '2026-11-25T10:00:00Z' },
  principal: { id: auditedAccount, subject: 'acme', source: 'API', credential: null },
  audit_id: '1',
})

const audits: FuzzedParser = {
  name: 'audit events of other services',
  sources: ['words/event/audit-in.ts'],
  seeds: () => [`weir.audit.ip_policy.created\n${auditSeed}`, `weir.audit.ip_policy.updated\n${auditSeed}`],
  words: ['weir.audit.', '.deleted', '"principal":', '"object":{', '"token":"x"'],
  msPerKiB: 20,
  read: (bytes) => {
    const end = bytes.indexOf(0x0a)
    const subject = bytes.subarray(0, Math.max(0, end)).toString()
    return ofResult(
      readAuditIn({ subject, data: bytes.subarray(end + 1), storedAtMs: 1_764_064_800_000, position: '1' }),
    )
  },
}

const policyFile = `tcp_edges:
  - hostports: [a.example:22]
    policies: {inbound: [{name: n, expressions: ['conn.server_port == 22'], actions: [{type: deny}]}]}
ip_policies:
  - id: ipp_1
    rules: &r
      - {cidr: 203.0.113.0/24, action: deny}
https_edges:
  - hostports: ["www.example.com:443"]
    routes:
      - {match_type: path_prefix, match: /admin}
tests:
  - name: a test
    given: {type: tcp_connection, conn: {client_ip: 203.0.113.7, server_name: a.example, server_port: 22}}
    expect: {decision: deny}
`

const yamlWords = [
  '- ',
  ': ',
  '&a ',
  '*a',
  '|\n  ',
  '>-\n',
  '---\n',
  '...\n',
  '!!binary ',
  '? ',
  '{',
  '[',
  '#',
  '"\\u',
  "'",
  '<<: *a',
  '\t',
  'tests:\n',
  'ip_lists:\n',
  '%YAML 1.2\n',
  '0o17',
  '.inf',
  '1e400',
]

function placedFault(
  faults: readonly { readonly line: number; readonly column: number; readonly msg: string }[],
  bytes: Buffer,
): Outcome {
  for (const { line, column, msg } of faults) {
    const lines = bytes.toString().split('\n').length
    expectThat(
      Number.isInteger(line) && line >= 1 && line <= lines + 1 && column >= 1,
      `the place ${line}:${column} of: ${msg.slice(0, 100)}`,
    )
  }
  return refused(
    faults
      .map(({ msg }) => msg)
      .join(' ')
      .slice(0, 1_000),
  )
}

const policies: FuzzedParser = {
  name: 'files of policies',
  sources: ['policy-file', 'configuration', 'relations', 'reading']
    .map((name) => `judging/evaluate/portable/${name}.ts`)
    .concat('ground/core/text/yaml.ts'),
  seeds: () => [
    policyFile,
    JSON.stringify(
      readYaml(policyFile, '', 1e6).ok ? (readYaml(policyFile, '', 1e6) as { value: unknown }).value : {},
    ),
    'a: &a [*a]\n',
    '{}',
  ],
  words: yamlWords,
  bytesMax: 32 * 1024,
  keptPerByte: 400,
  msPerKiB: 40,
  read: (bytes) => {
    const text = bytes.toString()
    const yaml = readYaml(text, 'The file', 1e6)
    if (yaml.ok) {
      const cyclic = tried(() => JSON.stringify(yaml.value) ?? 'null', TypeError)
      if ('value' in cyclic) {
        const again = readYaml(writeYaml(JSON.parse(cyclic.value as string)), 'It', 1e9)
        expectThat(again.ok, 'what is written as YAML is YAML')
        expectSame(
          again.ok && again.value,
          JSON.parse(cyclic.value as string),
          'a value that is written as YAML and read again',
        )
      }
    }
    withEntry(text, 'tests', { name: 'a' })
    const result = readPolicyFile(text)
    return result.ok ? read(result.file) : placedFault(result.faults, bytes)
  },
}

/** A directory for one file at a time. */
const directory = () => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-fuzz-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  return dir
}
let dir: string | undefined

function inFile<T>(name: string, bytes: Uint8Array, use: (path: string) => T): T {
  dir ??= directory()
  const path = join(dir, name)
  writeFileSync(path, bytes, { mode: 0o600 })
  return use(path)
}

const lineAndColumn = /:(\d+):(\d+): /

const asCode: FuzzedParser = {
  name: 'files as code',
  sources: [
    'outside/as-code/source-files.ts',
    'outside/as-code/placeholders.ts',
    'outside/as-code/concealed.ts',
    'ground/core/text/yaml.ts',
  ],
  seeds: () => [
    policyFile,
    `event_destinations:\n  - target: {http: {url: "https://a.example", auth: {token: "$` +
      `{env:HOME}"}}}\n`,
    'tunnel_group_backends:\n- {labels: {a: $' + '{file:weir.yaml}}}\n',
  ],
  words: [...yamlWords, '$' + '{env:HOME}', '$' + '{file:x}', '$$' + '{', '$' + '{', 'policy_tests:\n'],
  bytesMax: 32 * 1024,
  keptPerByte: 400,
  msPerKiB: 40,
  read: (bytes) =>
    inFile('weir.yaml', bytes, (path) => {
      const outcome = tried(() => SourceFiles.read([path], { HOME: 'home' }).entries, StartFault)
      if (!('refused' in outcome)) return outcome
      const isPlaced = lineAndColumn.test(outcome.refused) || /can't be read/.test(outcome.refused)
      expectThat(isPlaced, `a refusal has no place: ${outcome.refused.slice(0, 200)}`)
      return outcome
    }),
}

const forms = Object.entries(form).flatMap(([name, each]) =>
  typeof each === 'function' ? [] : [[name, each] as const],
)
const sized = [form.integer(0, 65_535), form.duration(1, 1e12), form.size(1, 1e15, 'x')] as const

const settings: FuzzedParser = {
  name: 'settings',
  sources: ['management/process/setting-layers.ts', 'management/process/setting-value.ts'],
  seeds: () => [
    readFileSync('config/default.jsonc').subarray(0, 6_000),
    '{"port": 8080, "trustProxy": ["10.0.0.0/8"], // x\n "host": "::1",}',
    '90s',
    'nats://u:p@h:4222, tls://x',
    'a=b%20c, d=e',
    '0.01',
  ],
  words: ['"port":', '"natsUrl":', 'null', '//', '/*', '512MiB', '7d', '1constructor', '%', '=', ','],
  bytesMax: 16 * 1024,
  msPerKiB: 20,
  read: (bytes) => {
    const text = bytes.toString()
    for (const [name, each] of forms) {
      const { parse, show } = each as form.ValueForm<never>
      const value = parse(text)
      if (value === undefined || show === undefined || show(value).length > 8_000) continue
      expectSame(parse(show(value)), value, `a value of the form ${name} that is shown and read again`)
    }
    for (const { parse, show = String } of sized) {
      const value = parse(text)
      if (value !== undefined)
        expectThat(Number.isFinite(value) && parse(show(value)) === value, `the number ${value}`)
    }
    if (!text.includes('\0')) tried(() => readEnvironment({ WEIR_PORT: text }), SettingsError)
    return inFile('weir.jsonc', bytes, (path) => {
      const outcome = tried(() => [...readFile(path, 'file')].length, SettingsError)
      if ('refused' in outcome)
        expectThat(/weir\.jsonc:\d+/.test(outcome.refused), `a refusal has no line: ${outcome.refused}`)
      return outcome
    })
  },
}

const manifest = Buffer.from(JSON.stringify({ weir_backup: 1, data_format: 1, kinds: [], streams: [] }))
const archive = Buffer.concat([
  tarEntry({ name: 'manifest.json', bytes: manifest }, 0),
  tarEntry({ name: 'a/b', bytes: Buffer.from('x') }, 0),
  tarEnd(),
])

const backups: FuzzedParser = {
  name: 'archives of backups',
  sources: [
    'ground/core/files/tar.ts',
    'management/store/backup/archive.ts',
    'management/store/backup/manifest.ts',
  ],
  seeds: () => [archive, manifest, withSize('77777777777'), withSize('-0000001000')],
  words: ['ustar', '\0'.repeat(512), '00000000777'],
  read: (bytes) => {
    tried(() => parseManifest(bytes, sha256(bytes)), StartFault)
    if (bytes.length >= 512) tried(() => readTarHeader(bytes.subarray(0, 512)), Error)
    return inFile('backup.tar', bytes, (path) =>
      tried(() => {
        const reader = readBackup(path)
        try {
          return reader.read('manifest.json').length
        } finally {
          reader.close()
        }
      }, StartFault),
    )
  },
}

/** An archive whose header is right but for the size. */
function withSize(octal: string): Buffer {
  const changedArchive = Buffer.from(archive)
  changedArchive.write(octal, 124, 'latin1')
  changedArchive.fill(0x20, 148, 156)
  const sum = changedArchive.subarray(0, 512).reduce((all, byte) => all + byte, 0)
  changedArchive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return changedArchive
}

const systems: readonly FuzzedParser[] = Object.entries(importedSystems).map(([name, system]) => ({
  name: `answers of ${name}`,
  sources: [
    name === 'ngrok' ? 'outside/import/ngrok/ngrok.ts' : `outside/import/${name}.ts`,
    'outside/import/input/document.ts',
  ],
  seeds: () => [readFileSync(`fixtures/imports/${name}.json`)],
  words: ['"items":[', '"id":null', '"next_page_uri":"x"', '"duration":"3h59m1.5s"', '"value":'],
  bytesMax: 256 * 1024,
  keptPerByte: 200,
  msPerKiB: 40,
  read: (bytes) => {
    const value = tried(() => parsed(bytes.toString(), 'It'), StartFault)
    if ('refused' in value) return value
    return tried(() => {
      const { file, report } = imported(system, [{ name: '', value: value.value }], {
        atMs: 1_764_064_800_000,
        nowMs: 1_764_064_800_000,
      })
      const again = readYaml(written(file), 'It', 1e9)
      expectThat(again.ok, 'what is imported can be read')
      return [file, report.length]
    }, StartFault)
  },
}))

const profiles: FuzzedParser = {
  name: 'profiles of the command line',
  sources: ['outside/cli/connection/profiles.ts'],
  seeds: () => ['{"profiles":{"default":{"url":"http://127.0.0.1:8080","key":"weir_x"}}}'],
  words: ['"profiles":', '"url":', 'null'],
  read: (bytes) => inFile('profiles.json', bytes, (path) => tried(() => readProfiles(path), StartFault)),
}

export const configurationParsers: readonly FuzzedParser[] = [
  entries,
  stored,
  audits,
  policies,
  asCode,
  settings,
  backups,
  ...systems,
  profiles,
]
