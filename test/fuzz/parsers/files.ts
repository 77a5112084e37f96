/** Files that people write, and answers of other systems that were saved in some. */
import { readFileSync } from 'node:fs'
import { StartFault } from '../../../src/ground/core/errors.js'
import { readYaml, withEntry, writeYaml } from '../../../src/ground/core/text/yaml.js'
import { readPolicyFile } from '../../../src/judging/evaluate/portable/policy-file.js'
import { written } from '../../../src/outside/as-code/export.js'
import { SourceFiles } from '../../../src/outside/as-code/source-files.js'
import { readProfiles } from '../../../src/outside/cli/connection/profiles.js'
import { imported, importedSystems } from '../../../src/outside/import/import.js'
import { parsed } from '../../../src/outside/import/input/document.js'
import { inFile } from '../engine/in-file.js'
import {
  expectSame,
  expectThat,
  type FuzzedParser,
  type Outcome,
  read,
  refused,
  tried,
} from '../engine/parser.js'

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

export const fileParsers: readonly FuzzedParser[] = [policies, asCode, ...systems, profiles]
