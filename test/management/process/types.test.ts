/**
 * The types of the package's entry points, in projects of consumers that have the packed package and nothing else of Weir.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { tempDir } from '../../harness/temp-dir.js'
import { pack } from './shipped.js'

const program = `
import { ApiError, type Client, openClient } from '@weir-events/weir/client'
import { compile, decide, explain } from '@weir-events/weir/evaluate'

const weir: Client = openClient({ url: 'http://127.0.0.1:8080', token: 'weir_x' })
// @ts-expect-error no such kind
weir.nonsense
const policy = await weir.ipPolicy.create({ description: 'the office' })
const id: string = policy.id
// @ts-expect-error an id is a text
const wrong: number = policy.id
// @ts-expect-error no such field
await weir.ipPolicy.create({ descriptn: 'the office' })
const edge = await weir.tcpEdge.create({ hostports: ['ssh.example.com:22'] })
await weir.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: [id] })
// @ts-expect-error ids, not an id
await weir.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: id })
for await (const { hostports } of weir.tcpEdge.list({ filter: 'ip_restriction.enabled' })) hostports?.join()
for await (const { decision } of weir.decisions({ limit: 1 })) {
  const one: string = decision
  void one
}
const { id: rule } = await weir.ipPolicyRule.create({ ip_policy_id: id, cidr: '192.0.2.0/24', action: 'deny' })
// @ts-expect-error no such action
await weir.ipPolicyRule.update(rule, { action: 'refuse' })
try {
  await weir.deliveryStatus('ed_1')
} catch (error) {
  if (error instanceof ApiError) error.places.map(({ line }) => line + 1)
}

const compiled = await compile({ tcp_edges: [{ hostports: ['ssh.example.com:22'] }] })
const record = { type: 'tcp_connection', conn: { client_ip: '203.0.113.7', server_name: 'ssh.example.com', server_port: 22 } }
const decision: 'allow' | 'block' | 'deny' = decide(compiled, record).decision
// @ts-expect-error not what compile makes
decide({}, record)
explain(compiled, record, { geo: { country_code: 'DE' } }).explanation.policies
// @ts-expect-error no such member
explain(compiled, record).nonsense
void [wrong, decision]
`

// The types are written by the compiler, after the programs.
t.setTimeout(300_000)
const packed = tempDir(t)
const consumer = join(packed, 'consumer')
const file = join(consumer, 'program.ts')

t.before(() => {
  execFileSync('node', ['config/prepare.mjs', '--no-nats-server', '--types'], { stdio: 'pipe' })
  const { filename } = pack(packed)
  execFileSync('tar', ['-xzf', join(packed, filename), '-C', packed])
  mkdirSync(join(consumer, 'node_modules', '@weir-events'), { recursive: true })
  renameSync(join(packed, 'package'), join(consumer, 'node_modules', '@weir-events', 'weir'))
  writeFileSync(join(consumer, 'package.json'), '{"type": "module"}')
  writeFileSync(file, program)
})

const { ModuleKind, ModuleResolutionKind } = ts
const es = 'lib.es2022.d.ts'
const cases = [
  { name: 'nodenext, of a browser', module: ModuleKind.NodeNext, lib: [es, 'lib.dom.d.ts'], types: [] },
  { name: 'nodenext, of Node', module: ModuleKind.NodeNext, lib: [es], types: ['node'] },
  {
    name: 'bundler',
    module: ModuleKind.ESNext,
    moduleResolution: ModuleResolutionKind.Bundler,
    lib: [es, 'lib.dom.d.ts'],
    types: [],
  },
] as const

for (const { name, ...options } of cases) {
  t.test(`a strict project with ${name}`, async (t) => {
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
    const compiled = ts.createProgram([file], {
      ...strict,
      ...options,
      lib: [...options.lib],
      types: [...options.types],
      typeRoots: [resolve('node_modules', '@types')],
      target: ts.ScriptTarget.ES2022,
      noEmit: true,
    })
    const problems = ts.getPreEmitDiagnostics(compiled).map((each) => {
      const { line } = each.file?.getLineAndCharacterOfPosition(each.start ?? 0) ?? { line: 0 }
      return `${each.file?.fileName}:${line + 1} ${ts.flattenDiagnosticMessageText(each.messageText, '\n')}`
    })
    t.strictSame(problems, [], 'also the declarations are checked')
    const own = compiled.getSourceFiles().filter(({ fileName }) => fileName.includes('@weir-events'))
    t.equal(own.length, 2, 'each is one file')
  })
}
