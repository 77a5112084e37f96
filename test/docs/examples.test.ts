/** The examples of the documents work as they stand. */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { policyScopes } from '../../src/delivery/record/policy-scope.js'
import { parseRecord } from '../../src/delivery/record/record.js'
import { pluralOf } from '../../src/ground/core/text/plural.js'
import { checkExpression } from '../../src/ground/expr/expression.js'
import { shapeLogTables } from '../../src/management/store/logs/log-tables.js'
import { readAuditIn } from '../../src/words/event/audit-in.js'
import { checkSource } from '../../src/words/event/check-source.js'
import { resources } from '../../src/words/resource/registry.js'
import { openTestStore } from '../harness/api.js'
import { portOf } from '../harness/raw-connection.js'
import { blocks, pageOf, pages, sectionOf } from './pages.js'

const run = promisify(execFile)
const api = pageOf('docs/api.md')
const events = pageOf('docs/events.md')
const ingress = pageOf('docs/ingress.md')
const policies = pageOf('docs/policies.md')

/** One value, or one in each line. */
function jsonIn(block: string): unknown[] {
  try {
    return [JSON.parse(block)]
  } catch {
    return block
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
}

const firstJson = (file: string, heading: string): string =>
  blocks(sectionOf(pageOf(file), heading), 'json')[0] ?? ''

t.test('JSON is JSON', (t) => {
  for (const page of pages) {
    for (const block of blocks(page, 'json')) t.doesNotThrow(() => jsonIn(block), `${page.file}: ${block}`)
  }
  t.end()
})

t.test('commands are of the shell', (t) => {
  for (const page of pages) {
    for (const block of blocks(page, 'sh')) {
      t.doesNotThrow(() => execFileSync('bash', ['-n'], { input: block }), `${page.file}: ${block}`)
    }
  }
  t.end()
})

t.test('programs are JavaScript', (t) => {
  for (const page of pages) {
    for (const block of blocks(page, 'js')) {
      const { diagnostics } = ts.transpileModule(block, { reportDiagnostics: true })
      t.strictSame(
        diagnostics?.map(({ messageText }) => messageText),
        [],
        page.file,
      )
    }
  }
  t.end()
})

t.test('the example of the typed client is the one whose types are checked', (t) => {
  const [example = ''] = blocks(api, 'ts')
  const checked = readFileSync('test/docs/example-of-the-client.ts', 'utf8')
  const withImport = example.replace('./dist/programs/client.js', '../../src/words/client/client.js')
  t.equal(checked.slice(checked.indexOf('import ')).trim(), withImport.trim())
  t.end()
})

t.test('expressions of policies', (t) => {
  const [examples = ''] = blocks(sectionOf(policies, 'Expressions'), '')
  const lines = examples.trim().split('\n')
  t.ok(lines.length >= 3)
  for (const line of lines) {
    const { outbound } = policyScopes[/http\.|tls\./.test(line) ? 'http_request' : 'tcp_connection']
    t.equal(checkExpression<never>(line, outbound), undefined, line)
  }
  t.end()
})

t.test('filters of subscriptions', (t) => {
  const [examples = ''] = blocks(sectionOf(events, 'Filters'), '')
  const lines = examples.trim().split('\n')
  t.ok(lines.length >= 2)
  for (const filter of lines) {
    const type = filter.includes('http.') ? 'http_request_complete.v0' : 'tcp_connection_closed.v0'
    t.equal(checkSource({ type, filter }), undefined, filter)
  }
  t.end()
})

t.test('records', (t) => {
  const records = blocks(sectionOf(ingress, 'Records'), 'json')
  t.equal(records.length, 2)
  for (const record of records) t.match(parseRecord(Buffer.from(record)), { ok: true }, record)
  t.end()
})

t.test('an audit event of another service', (t) => {
  const message = {
    subject: 'weir.audit.ip_policy.updated',
    data: Buffer.from(firstJson('docs/ingress.md', 'Audit events of other services')),
    storedAtMs: 0,
    position: '1',
  }
  t.match(readAuditIn(message), { ok: true })
  t.end()
})

/** Answers to lists that are not of edges. */
const otherLists = {
  '/last_traffic': { last_traffic: Array, log: 'all', names_left_out: 0 },
  '/ip_policy_rules': { ip_policy_rules: Array, next_page_uri: null },
  '/decisions': { decisions: Array, next_page_uri: null },
  '/expression_failures': { expression_failures: Array },
  '/dead_letters/groups': { groups: Array, complete_since: null },
  '/dead_letters': { dead_letters: Array, next_page_uri: null },
}

t.test('requests to the API', async (t) => {
  const store = await openTestStore(t)
  const opened = await store.api({})
  const me = await opened.account()
  await me.tcpEdge.create({ hostports: ['a.example:22'] })
  await opened.app.listen({ host: '127.0.0.1', port: 0 })
  const [shellFunction = ''] = /^api\(\) \{[^}]*\$\{3[^}]*\}; \}$/m.exec(api.text) ?? []
  t.match(shellFunction, /weir_….*8080/s)
  const ready = shellFunction
    .replace('curl', 'curl -s')
    .replace('weir_…', me.token)
    .replace(':8080', `:${portOf(opened.app)}`)
  const answerOf = async (command: string) => {
    const { stdout } = await run('bash', ['-c', `${ready}\n${command}`])
    return JSON.parse(stdout)
  }

  let destinationId = ''
  await t.test('a destination and a subscription', async (t) => {
    const [commands = ''] = blocks(sectionOf(pageOf('docs/destinations.md'), 'Create one'), 'sh')
    const [makeDestination = '', , makeSubscription = ''] = commands.split(/(?=^api )/m)
    const { id } = await answerOf(makeDestination)
    t.match(id, /^ed_/)
    destinationId = id
    t.match(await answerOf(makeSubscription.replace('ed_…', id)), { id: /^esb_/ })
    const subscription = jsonIn(firstJson('docs/events.md', 'Traffic events'))[0] as object
    await me.at('/event_subscriptions').create({ ...subscription, destination_ids: [id] })
  })

  await t.test('lists', async (t) => {
    const commands = new Set(
      pages.flatMap(({ text }) =>
        [...text.matchAll(/\bapi GET ('[^']*'|[^\s`…]+)(?=[`\n])/g)].map(([command]) => command),
      ),
    )
    t.ok(commands.size >= 2, `${commands.size} of them`)
    await shapeLogTables(store.parts.clickhouse, { retentionMs: 1_000, bytesMax: 2 ** 30 })
    for (const command of commands) {
      const listed = Object.entries(otherLists).find(([path]) => command.includes(path))
      const known = command.replace(/\bed_\w{26}/, destinationId)
      t.match(await answerOf(known), listed?.[1] ?? { tcp_edges: Array, next_page_uri: null }, command)
    }
  })

  await t.test('a module of traffic policies', async (t) => {
    const edge = await me.tcpEdge.create({})
    const [module] = jsonIn(firstJson('docs/policies.md', 'Traffic policies'))
    t.match(await me.at('/edges/tcp').module('policies').put(edge.id, module), module as object)
  })

  await t.test('all rules of a policy', async (t) => {
    const policy = await me.ipPolicy.create({})
    const [rules] = jsonIn(firstJson('docs/api.md', 'Replace all rules'))
    t.match(await me.raw.expect(200, 'PUT', `/ip_policies/${policy.id}/rules`, rules), {
      added: 2,
      kept: 0,
      expired: 0,
    })
  })

  await t.test('an error', async (t) => {
    const [shown] = jsonIn(firstJson('docs/api.md', 'Errors')) as [{ msg: string }]
    const { body } = await me.raw.send('POST', '/edges/tcp', { body: { hostports: ['ssh.example.com'] } })
    t.match(body, { ...shown, details: { operation_id: /^op_/ } })
  })
})

t.test('the kinds that emit audit events, and those that emit none', (t) => {
  const silent = resources
    .filter(({ audit, isInternal }) => audit === undefined && !isInternal)
    .map(({ title }) => pluralOf(title))
  const section = sectionOf(events, 'Audit events').text
  const [, none = ''] =
    /No audit events are emitted for ([^.]*?)(?: \([^)]*\))?\./.exec(section.replaceAll(/\s+/g, ' ')) ?? []
  t.strictSame(none.split(/, | and /).toSorted(), silent.toSorted())
  for (const { audit } of resources) if (audit !== undefined) t.ok(section.includes(`\`${audit}\``), audit)
  t.end()
})
