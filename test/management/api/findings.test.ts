/** `GET /findings` and `weir lint` on a real store. */
import t from 'tap'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { lintReport } from '../../../src/outside/cli/lint-report.js'
import { openTestStore } from '../../harness/api.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'

const dayMs = 24 * 60 * 60_000

t.test('findings of an account', async (t) => {
  const store = await openTestStore(t)
  const { log } = store.parts
  const counts = log.counts.bind(log)
  let questions = 0
  log.counts = (asked) => {
    questions += 1
    return counts(asked)
  }
  const api = await store.api()
  const me = await api.account()
  const policy = await me.ipPolicy.create({ description: 'the office' })
  const rule = (cidr: string, action: 'allow' | 'deny') =>
    me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr, action })
  const wide = await rule('203.0.113.0/24', 'allow')
  const narrow = await rule('203.0.113.7/32', 'allow')
  const edge = await me.tcpEdge.create({
    hostports: ['ssh.findings.example:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
    policies: { inbound: [{ name: 'never', expressions: ['1 == 2'], actions: [{ type: 'deny' }] }] },
  })

  t.test('each with what causes it, and a draft that can be tried', async (t) => {
    const { findings, kinds } = await me.findings()
    t.match(findings, [
      {
        kind: 'rule_covered',
        about: { kind: 'ip_policy_rule', id: narrow.id, name: '203.0.113.7/32', uri: narrow.uri },
        evidence: { by: { id: wide.id, uri: wide.uri } },
      },
      {
        kind: 'expression_constant',
        severity: 'attention',
        about: { kind: 'tcp_edge', id: edge.id, place: 'policies.inbound[0].expressions[0]', uri: edge.uri },
      },
    ])
    t.equal(findings.length, 2)
    t.match(
      kinds.find(({ kind }) => kind === 'rule_covered'),
      { looked_at: 2, found: 1, left_out: 0, unknown: null },
    )
    for (const { draft } of findings) {
      const { pathname } = new URL(draft!.uri)
      const query = draft!.method === 'PATCH' ? '?validate_only=true' : ''
      const { status, text } = await me.raw.send(draft!.method, `${pathname}${query}`, { body: draft!.body })
      t.equal(status, draft!.method === 'PATCH' ? 200 : 202, text)
    }
  })

  t.test('two people with two pages of the console each: none is refused, they share a search', async (t) => {
    const askedAtOnce = async (times: number): Promise<number> => {
      questions = 0
      const answers = await Promise.all(Array.from({ length: times }, () => me.raw.send('GET', '/findings')))
      t.ok(answers.every(({ status, text }) => status === 200 && text === answers[0]!.text))
      return questions
    }
    const ofOne = await askedAtOnce(1)
    t.ok(ofOne > 0, 'a search asks the log')
    t.equal(await askedAtOnce(4), ofOne)
    t.equal(await askedAtOnce(1), ofOne, 'the next one is a search of its own')
  })

  t.test('what depends on traffic is judged by the decision log', async (t) => {
    const { clickhouse } = store.parts
    await shapeLogTables(clickhouse, { retentionMs: 20 * dayMs, bytesMax: 2 ** 30 })
    // The clock of these rows, like that of the search, shows no whole second.
    const at = Math.floor(Date.now() / 1000) * 1000 - 10 * dayMs + 123
    const { accountId } = me
    await clickhouse.insertBlocks('decisions', [rowBytes([decisionRow({ accountId, recordId: 'r1', at })])])
    const { kinds } = await me.findings()
    const ofLog = kinds.filter(({ kind }) => ['rule_never_matched', 'expression_fails'].includes(kind))
    t.match(ofLog, [{ unknown: null }, { unknown: null }])
  })

  t.test('in words', async (t) => {
    const lines = lintReport(await me.findings()).split('\n')
    t.match(lines, [
      `notice     rule_covered  ${narrow.id} (203.0.113.7/32)`,
      /^ {11}The rule for 203\.0\.113\.7\/32 changes nothing: 203\.0\.113\.0\/24 is allowed/,
      `           because of ${wide.id} (203.0.113.0/24)`,
      `attention  expression_constant  ${edge.id} policies.inbound[0].expressions[0] (ssh.findings.example:22)`,
    ])
    t.equal(lines.at(-1), '2 findings')
  })

  t.test('once they are mended, there are none', async (t) => {
    await me.ipPolicyRule.delete(narrow.id)
    await me.tcpEdge.policies.delete(edge.id)
    t.strictSame((await me.findings()).findings, [])
  })

  t.test("another account's are its own", async (t) => {
    const other = await api.account('other')
    t.strictSame((await other.findings()).findings, [])
    t.equal((await other.raw.send('GET', '/findings?account=1')).status, 400)
  })
})
