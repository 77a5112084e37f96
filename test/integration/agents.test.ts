/** Agents: credentials created over HTTP, decisions requested over NATS. */
import t from 'tap'
import { now } from '../../src/ground/core/clock.js'
import { openClient } from '../../src/words/client/client.js'
import { metricsOf } from '../harness/pages.js'
import { soonestRefusalMs } from '../harness/revocation.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { openAccount } from './service.js'

const address = '203.0.113.9'

t.test('decisions about agents', async (t) => {
  const { weir } = await openAccount(t)
  const { api, accountId } = weir
  const nats = await weir.nats()
  const askRaw = async (request: string) =>
    JSON.parse(Buffer.from(await nats.request('weir.decide.agent', request, 20_000)).toString())
  const ask = (token: string, bind: string, client_ip = address) =>
    askRaw(JSON.stringify({ token, client_ip, bind }))
  const credential = async (acl?: readonly string[]): Promise<{ id: string; token: string }> => {
    const { id, token } = await api.tunnelCredential.create({ acl })
    return { id, token: String(token) }
  }

  t.test('by the rules of their credential', async (t) => {
    const rules: [acl: string[] | undefined, allowed: string[], blocked: string[]][] = [
      [undefined, ['a.example', '*.a.example', '[::1]:22', 'no name at all'], []],
      [['*'], ['a.example', 'no name at all'], []],
      [
        ['bind:A.example'],
        ['a.example', 'a.EXAMPLE', 'a.example:443'],
        ['b.a.example', 'xa.example', '*.a.example', 'example', 'no name at all', '*'],
      ],
      [
        ['bind:*.a.example'],
        ['b.a.example', 'c.b.A.example', '*.a.example', '*.b.a.example', 'b.a.example:443'],
        ['a.example', 'xa.example', '.a.example', 'b.a.example.org', '*.example', '*'],
      ],
      [
        ['bind:1.tcp.us.weir.localhost:20001'],
        ['1.tcp.us.weir.localhost:20001', '1.TCP.us.weir.localhost:20001'],
        ['1.tcp.us.weir.localhost', '1.tcp.us.weir.localhost:20002', '2.tcp.us.weir.localhost:20001'],
      ],
      [['bind:2001:db8::1', 'bind:203.0.113.7:22'], ['[2001:DB8:0::1]:5', '203.0.113.7:22'], ['203.0.113.7']],
    ]
    for (const [acl, allowed, blocked] of rules) {
      const { id, token } = await credential(acl)
      await until('the credential is known', async () => (await ask(token, 'x.y')).credential_id === id)
      for (const bind of allowed)
        t.match(await ask(token, bind), { decision: 'allow', credential_id: id }, `${acl} allows ${bind}`)
      for (const bind of blocked) {
        const answer = await ask(token, bind)
        t.match(answer, { decision: 'block', credential_id: id }, `${acl} blocks ${bind}`)
        t.strictSame(Object.keys(answer), ['decision', 'reason', 'credential_id'])
        t.match(answer.reason, `The acl of ${id} does not allow to bind ${bind}.`)
      }
    }
  })

  t.test('rules that change, and a credential that is deleted', async (t) => {
    const { id, token } = await credential(['bind:a.example'])
    const decided = (bind: string, decision: string) =>
      until(`${decision} ${bind}`, async () => (await ask(token, bind)).decision === decision)
    await decided('a.example', 'allow')
    await api.tunnelCredential.update(id, { acl: ['bind:b.example'] })
    await decided('b.example', 'allow')
    t.equal((await ask(token, 'a.example')).decision, 'block')
    await api.tunnelCredential.update(id, { acl: null })
    await decided('a.example', 'allow')
    await api.tunnelCredential.delete(id)
    await decided('a.example', 'block')
    const unknown = { decision: 'block', reason: 'The token is unknown.', credential_id: null }
    t.strictSame(await ask(token, 'a.example'), unknown)
    t.strictSame(await ask('weir_nobody', 'a.example'), unknown)
    t.strictSame(await ask(weir.token, 'a.example'), unknown, 'an API key is not a credential of an agent')
    const agent = openClient({ url: weir.url, token })
    await t.rejects(
      agent.tunnelCredential.get(id),
      { name: 'ApiError', status_code: 401 },
      'nor the other way round',
    )
  })

  t.test(
    'a deleted credential is blocked before later changes are visible, within two seconds',
    async (t) => {
      const revocable = async () => {
        const { id, token } = await credential()
        return {
          isAccepted: async () => (await ask(token, 'a.example')).decision === 'allow',
          revoke: () => api.tunnelCredential.delete(id),
        }
      }
      const first = await revocable()
      await until('it is known', first.isAccepted)
      await first.revoke()
      await until('a later one is known', (await revocable()).isAccepted)
      t.notOk(await first.isAccepted())
      t.ok((await soonestRefusalMs(revocable)) <= 2_000)
    },
  )

  t.test('by the agent restriction', async (t) => {
    const { id, token } = await credential()
    const policy = await api.ipPolicy.create({})
    await api.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '203.0.113.0/24', action: 'allow' })
    const body = { type: 'agent', ip_policy_ids: [policy.id], enforced: true } as const
    const restriction = await api.ipRestriction.create(body)
    const elsewhere = '198.51.100.1'
    await until('it is enforced', async () =>
      (await ask(token, 'a', elsewhere)).reason.includes('restriction'),
    )
    t.strictSame(await ask(token, 'a', elsewhere), {
      decision: 'block',
      reason: `The agent restriction of ${accountId} blocks ${elsewhere}.`,
      credential_id: id,
    })
    t.equal((await ask(token, 'a')).decision, 'allow')
    t.equal((await ask(token, 'a', `::ffff:${address}`)).decision, 'allow')
    await api.ipRestriction.update(restriction.id, { enforced: false })
    await until('it only warns', async () => (await ask(token, 'a', elsewhere)).decision === 'allow')
    const warned = await ask(token, 'a', elsewhere)
    t.match(
      warned.reason,
      `The agent restriction ${restriction.id} would block ${elsewhere}; it is not enforced.`,
    )
    const metrics = await metricsOf(weir.url)
    t.match(metrics, /^weir_restriction_warnings_total\{[^}]*asked_by="decision"[^}]*\} [1-9]/m)
    t.match(weir.process.output(), restriction.id, 'and the log has it')
  })

  t.test('the last use of a credential is known after a restart', async (t) => {
    const dataDir = tempDir(t)
    const env = { WEIR_BOOTSTRAP_TOKEN: 'token-of-the-restarted-one' }
    let own = await startWeir(dataDir, env)
    t.teardown(() => own.stop())
    const { id, token: secret } = await own.api.tunnelCredential.create({ acl: ['bind:a.example'] })
    t.match(await own.api.tunnelCredential.get(id), { last_used_at: null, last_used_from: null })
    const nats = await own.nats()
    const used = async (bind: string, client_ip: string) =>
      JSON.parse(
        Buffer.from(
          await nats.request('weir.decide.agent', JSON.stringify({ token: secret, client_ip, bind }), 20_000),
        ).toString(),
      )
    const since = Math.floor(now() / 1000) * 1000
    await until('it is known', async () => (await used('a.example', '203.0.113.7')).decision === 'allow')
    t.match(await used('b.example', address), { decision: 'block', credential_id: id })
    const untilMs = now()
    await nats.close()
    await own.stop()
    own = await startWeir(dataDir, env)
    const { last_used_at, last_used_from } = await own.api.tunnelCredential.get(id)
    t.equal(last_used_from, address, 'also if it was refused')
    t.ok(Date.parse(last_used_at!) >= since && Date.parse(last_used_at!) <= untilMs, last_used_at!)
  })

  t.test('invalid requests', async (t) => {
    const { token } = await credential()
    const good = { token, client_ip: address, bind: 'a.example' }
    const cases: [string, unknown, RegExp][] = [
      ['a list', [good], /must be an object/],
      ['null', null, /must be an object/],
      ['no token', { ...good, token: undefined }, /"token" must be a string/],
      ['a number as a token', { ...good, token: 5 }, /"token" must be a string/],
      ['no address', { ...good, client_ip: undefined }, /"client_ip"/],
      ['a name as an address', { ...good, client_ip: 'a.example' }, /"client_ip" is "a.example"/],
      ['nothing to bind', { ...good, bind: '' }, /"bind" is ""/],
      ['a list to bind', { ...good, bind: ['a.example'] }, /"bind" is \["a.example"\]/],
      ['too much to bind', { ...good, bind: 'a'.repeat(301) }, /at most 300 characters/],
    ]
    for (const [name, request, msg] of cases) {
      const answer = await askRaw(JSON.stringify(request))
      t.match(answer, { error_code: 'ERR_INVALID_REQUEST', msg }, name)
      t.notMatch(JSON.stringify(answer), token, 'the token is not repeated')
    }
    t.match(await askRaw('{'), { error_code: 'ERR_INVALID_JSON' })
    t.notMatch(weir.process.output(), token)
  })
})
