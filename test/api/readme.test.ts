/** What README shows can be pasted, and what it says of audit events is so. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { pluralOf } from '../../src/core/plural.js'
import { resources } from '../../src/resource/registry.js'
import { openTestStore } from '../harness/api.js'
import { portOf } from '../harness/raw-connection.js'

t.setTimeout(300_000)

const readme = readFileSync('README.md', 'utf8')
const run = promisify(execFile)

t.test('the requests of README that need no id', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  await me.post('/edges/tcp', { hostports: ['a.example:22'] })
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const [shellFunction = ''] = /^api\(\) \{[^}]*\$\{3[^}]*\}; \}$/m.exec(readme) ?? []
  t.match(shellFunction, /weir_….*8080/s)
  const ready = shellFunction.replace('weir_…', me.token).replace(':8080', `:${portOf(api.app)}`)
  const commands = new Set(
    [...readme.matchAll(/\bapi GET ('[^']*'|[^\s`…]+)(?=[`\n])/g)].map(([text]) => text),
  )
  t.ok(commands.size >= 2, `${commands.size} of them`)
  for (const command of commands) {
    const { stdout } = await run('bash', ['-c', `${ready.replace('curl', 'curl -s')}\n${command}`])
    t.match(JSON.parse(stdout), { tcp_edges: Array, next_page_uri: null }, command)
  }
})

t.test('the kinds that README says emit no audit events', (t) => {
  const silent = resources.filter(({ audit }) => audit === undefined).map(({ title }) => pluralOf(title))
  const [, told = ''] = /No audit events are emitted for ([^.]*)\./.exec(readme.replaceAll(/\s+/g, ' ')) ?? []
  t.strictSame(told.split(/, | and /).toSorted(), silent.toSorted())
  t.end()
})
