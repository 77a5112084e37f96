/** The configuration: entries of its buckets, rows, settings and backups. */
import { readFileSync } from 'node:fs'
import { StartFault } from '../../../src/ground/core/errors.js'
import { readTarHeader, tarEnd, tarEntry } from '../../../src/ground/core/files/tar.js'
import { SettingsError } from '../../../src/management/process/secret-files.js'
import { readEnvironment, readFile } from '../../../src/management/process/setting-layers.js'
import * as form from '../../../src/management/process/setting-value.js'
import { readBackup } from '../../../src/management/store/backup/archive.js'
import { parseManifest, sha256 } from '../../../src/management/store/backup/manifest.js'
import { decodeHead } from '../../../src/management/store/change/head-text.js'
import { decodeClaim } from '../../../src/management/store/claims/claim-holder.js'
import { decodeRow, rowEncoder } from '../../../src/management/store/clickhouse/tables.js'
import { readAuditIn } from '../../../src/words/event/audit-in.js'
import { namesOfClaim } from '../../../src/words/resource/fields/claimed-names.js'
import { resources } from '../../../src/words/resource/registry.js'
import { checkedValue, secretsIn } from '../../../src/words/view/entry-values.js'
import { claimKey, claimOfKey, versionOfStaged } from '../../../src/words/view/keys.js'
import { isRowOf } from '../../../src/words/view/row-forms.js'
import { inFile } from '../engine/in-file.js'
import {
  expectSame,
  expectThat,
  type FuzzedParser,
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

export const configurationParsers: readonly FuzzedParser[] = [entries, stored, audits, settings, backups]
