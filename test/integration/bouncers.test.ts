/**
 * Bouncers that others made read their bans from Weir: one made with CrowdSec's published library for Go, skipped without
 * Go, or if its modules can't be fetched; and Debian's `crowdsec-custom-bouncer`, set up as `docs/recipes/bouncers.md` says,
 * skipped without it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { goProgram } from '../harness/go-program.js'
import { runProgram } from '../harness/processes.js'
import { recipe } from '../harness/recipe.js'
import { tempDir } from '../harness/temp-dir.js'
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

const customBouncer = '/usr/bin/crowdsec-custom-bouncer'
const pollMs = 500
const visibleMs = 2_000

/** A call of the program that enforces bans. */
interface Call {
  readonly atMs: number
  readonly verb: string
  readonly value: string
  readonly seconds: number
  readonly reason: string
}

/** The bouncer and a program that keeps its calls. */
function openCustomBouncer(t: Test, url: string, token: string) {
  const dir = tempDir(t)
  const [calls, program, config] = ['calls', 'ban', 'bouncer.yaml'].map((name) => join(dir, name))
  writeFileSync(calls!, '')
  writeFileSync(program!, `#!/bin/sh\necho "$(date +%s%3N) $1 $2 $3 $4" >>'${calls}'\n`, { mode: 0o755 })
  // For the package's own file, which has it write to /var/log.
  writeFileSync(
    config!,
    'daemonize: false\nlog_mode: stdout\nlog_level: info\nprometheus:\n  enabled: false\n',
  )
  const replaced = {
    '/usr/local/bin/ban': program!,
    'update_frequency: 5s': `update_frequency: ${pollMs}ms`,
    'https://weir.example.com': url,
    'weir_…': token,
  }
  writeFileSync(`${config}.local`, recipe('bouncers', 'custom bouncer', replaced))
  return {
    start() {
      const bouncer = runProgram(customBouncer, ['-c', config!])
      t.teardown(() => bouncer.stop())
      return bouncer
    },
    calls: (): Call[] =>
      readFileSync(calls!, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => {
          const [atMs, verb = '', value = '', seconds, ...reason] = line.split(' ')
          return { atMs: Number(atMs), verb, value, seconds: Number(seconds), reason: reason.join(' ') }
        }),
  }
}

t.test('a whole bouncer', async (t) => {
  if (!existsSync(customBouncer)) {
    t.pass('there', { skip: `there is no ${customBouncer}` })
    return
  }
  const { weir } = await openAccount(t)
  const { api } = weir
  const { id: ip_policy_id } = await api.ipPolicy.create({})
  const deny = (cidr: string, expires_at: string | null = null) =>
    api.ipPolicyRule.create({ ip_policy_id, cidr, action: 'deny', description: 'port scans', expires_at })
  const first = await deny('203.0.113.9')
  const second = await deny('2001:db8::/32')
  const { token } = await api.bouncer.create({ ip_policy_ids: [ip_policy_id] })
  const { start, calls } = openCustomBouncer(t, weir.url, String(token))
  /** The call of the program after `change` was answered, and how long that took. */
  const enforced = async (verb: string, value: string, change: () => Promise<unknown>) => {
    const before = calls().length
    await change()
    const answeredMs = Date.now()
    const called = () =>
      calls()
        .slice(before)
        .find((call) => call.verb === verb && call.value === value)
    await until(`${verb} ${value}`, () => called() !== undefined)
    return { ...called()!, waitedMs: called()!.atMs - answeredMs }
  }

  const bouncer = start()
  await until('it has everything', () => calls().length >= 2)
  t.match(
    calls().toSorted((a, b) => a.value.localeCompare(b.value)),
    [
      { verb: 'add', value: '2001:db8::/32', seconds: 315_360_000, reason: 'port scans' },
      { verb: 'add', value: '203.0.113.9' },
    ],
  )
  const expires = new Date(Date.now() + 6_000)
  const changes = [
    await enforced('add', '198.51.100.0/24', () => deny('198.51.100.0/24')),
    await enforced('del', '203.0.113.9', () => api.ipPolicyRule.delete(first.id)),
    await enforced('add', '192.0.2.1', () => deny('192.0.2.1', expires.toISOString())),
  ]
  t.ok(changes[2]!.seconds <= 6, 'with the time that is left')
  const { atMs } = await enforced('del', '192.0.2.1', async () => {})
  t.ok(atMs >= expires.getTime() - 1_000, 'not before it expires; whole seconds are stored')
  // Of a busy machine, the fastest.
  const waitedMs = Math.min(...changes.map((each) => each.waitedMs))
  t.ok(waitedMs <= pollMs + visibleMs, `a change is enforced ${waitedMs} ms after the answer`)

  await bouncer.stop()
  const before = calls().length
  await api.ipPolicyRule.delete(second.id)
  start()
  const calledSince = () =>
    new Set(
      calls()
        .slice(before)
        .map(({ verb, value }) => `${verb} ${value}`),
    )
  const expected = ['add 198.51.100.0/24', 'del 2001:db8::/32']
  await until('it has everything again', () => expected.every((call) => calledSince().has(call)))
  // A change is in two answers: the last one before the restart may be in this one again.
  t.strictSame(
    [...calledSince()].filter((call) => call !== 'del 192.0.2.1').toSorted(),
    expected,
    'a bouncer that restarts gets what is banned now, and what ended meanwhile',
  )
  t.strictSame(
    [...new Map(calls().map(({ verb, value }) => [value, verb]))].toSorted(),
    [
      ['192.0.2.1', 'del'],
      ['198.51.100.0/24', 'add'],
      ['2001:db8::/32', 'del'],
      ['203.0.113.9', 'del'],
    ],
    'repetitions change nothing',
  )
})
