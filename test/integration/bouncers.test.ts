/**
 * A bouncer made with CrowdSec's published library for Go reads its bans from Weir. Skipped without Go, or if its modules can't
 * be fetched.
 */
import t from 'tap'
import { goProgram } from '../harness/go-program.js'
import { runProgram } from '../harness/processes.js'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

interface Line {
  readonly kind: 'live' | 'stream'
  readonly value: unknown
}

t.test("a bouncer with CrowdSec's library", async (t) => {
  const found = goProgram('test/integration/bouncer')
  if ('missing' in found) {
    t.pass('built', { skip: found.missing })
    return
  }
  const { weir } = await openAccount(t)
  const { api } = weir
  const { id: ip_policy_id } = await api.ipPolicy.create({})
  const deny = (cidr: string, expires_at: string | null = null) =>
    api.ipPolicyRule.create({ ip_policy_id, cidr, action: 'deny', description: 'scans', expires_at })
  const first = await deny('203.0.113.0/24')
  const { id, token } = await api.bouncer.create({ ip_policy_ids: [ip_policy_id] })
  const bouncer = runProgram(found.program, [`${weir.url}/`, String(token), '203.0.113.9'])
  t.teardown(() => bouncer.stop())
  const lines = (): Line[] =>
    bouncer
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  const has = (what: RegExp) => lines().some((line) => what.test(JSON.stringify(line)))
  await until('it has everything', () => lines().length >= 2)
  const [live, stream] = lines()
  t.match(live, {
    kind: 'live',
    value: [{ scope: 'Range', value: '203.0.113.0/24', type: 'ban', origin: 'weir' }],
  })
  t.match(stream, {
    kind: 'stream',
    value: { new: [{ value: '203.0.113.0/24', scenario: 'scans', duration: '87600h0m0s' }] },
  })

  await deny('198.51.100.7/32', '2035-01-01T00:00:00Z')
  await until('it gets a new ban', () => has(/"new":\[\{[^}]*"value":"198\.51\.100\.7"/))
  await api.ipPolicyRule.delete(first.id)
  await until('it learns of a deletion', () => has(/"deleted":\[\{[^}]*"value":"203\.0\.113\.0\/24"/))
  t.match(await api.bouncer.get(id), { last_used_at: /^2/, last_used_from: '127.0.0.1' })
})
