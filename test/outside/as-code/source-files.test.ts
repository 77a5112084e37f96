/** The files of a configuration. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
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
