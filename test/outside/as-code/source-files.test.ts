/** The files of a configuration. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { missingIn } from '../../../src/outside/as-code/placeholders.js'
import { SourceFiles } from '../../../src/outside/as-code/source-files.js'
import { tempDir } from '../../harness/temp-dir.js'

t.test('a section without entries is a section', async (t) => {
  const file = join(tempDir(t), 'weir.yaml')
  writeFileSync(file, 'ip_policies: []\ntcp_edges:\ntests: []\n')
  const { entries } = SourceFiles.read([file], {})
  t.same(
    [...entries],
    [
      ['ip_policies', []],
      ['tcp_edges', []],
      ['policy_tests', []],
    ],
  )
})

t.test('a JSON Schema in a directory of files is none of them', async (t) => {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'below'))
  writeFileSync(join(dir, 'below', 'weir.yaml'), 'ip_policies: [{description: a}]')
  writeFileSync(join(dir, 'weir.schema.json'), '{"title": "a schema"}')
  t.equal(SourceFiles.read([dir], {}).entries.get('ip_policies')?.length, 1)
})

t.test('a placeholder with a typing error is refused with its place', async (t) => {
  const file = join(tempDir(t), 'weir.yaml')
  writeFileSync(file, `ip_policies:\n  - description: a\n    metadata: "\${vault:x}"\n`)
  t.throws(() => SourceFiles.read([file], {}), {
    message: `${file}:3:15: "ip_policies[0].metadata" has "\${vault:x}", which is no placeholder: write \${env:NAME} or \${file:PATH}, or $\${ for a plain \${.`,
  })
})

t.test('a file has one document', (t) => {
  const file = join(tempDir(t), 'weir.yaml')
  writeFileSync(file, 'ip_lists: []\n---\nip_policies: []\n')
  const message = `${file}:2:1: The file ${file} has more than one document (---): only one is allowed.`
  t.throws(() => SourceFiles.read([file], {}), { message })
  t.end()
})

t.test('devices are not read', (t) => {
  t.throws(() => SourceFiles.read(['/dev/zero'], {}), {
    message: /\/dev\/zero can't be read: it is not a file\./,
  })
  const file = join(tempDir(t), 'weir.yaml')
  writeFileSync(file, `tls_certificates: [{private_key_pem: "\${file:/dev/zero}"}]`)
  const [entry] = SourceFiles.read([file], {}).entries.get('tls_certificates')!
  t.match(
    [...missingIn(entry!.values, 'one')],
    [{ place: 'one.private_key_pem', why: `\${file:/dev/zero} is not there: it is not a file` }],
  )
  t.end()
})
