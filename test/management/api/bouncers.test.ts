/** Bouncers read deny rules in the form of CrowdSec's local API: everything, then what has changed. */
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { isoSeconds, now } from '../../../src/ground/core/clock.js'
import { BouncerPulls } from '../../../src/management/api/bouncers/bouncer-pulls.js'
import { AccountBans } from '../../../src/management/insight/bans/account-bans.js'
import type { NewListEntries } from '../../../src/words/client/list-entries.js'
import type { DeclaredRow } from '../../../src/words/resource/registry.js'
import { openTestStore, type TestApi } from '../../harness/api.js'
import { all, type Caller, statusOf } from '../../harness/caller.js'
import { until } from '../../harness/weir.js'

interface Decision {
  readonly id: number
  readonly value: string
  readonly scope: string
  readonly origin: string
  readonly scenario: string
  readonly duration: string
}

interface Decisions {
  readonly new: readonly Decision[]
  readonly deleted: readonly Decision[]
}

const isFull = process.argv.includes('--full')
/** One rule more is added; `--full` fills the policy to its bound. */
const manyBans = isFull ? 99_999 : 9_999

type Method = 'GET' | 'HEAD' | 'POST'

const send = (
  api: TestApi,
  token: string | undefined,
  url: string,
  method: Method = 'GET',
  { payload, ...more }: { readonly payload?: string | Buffer; readonly [header: string]: unknown } = {},
) =>
  api.app.inject({
    method,
    url,
    headers: { ...(token && { 'x-api-key': token }), ...(more as Record<string, string>) },
    ...(payload === undefined ? {} : { payload }),
  })

const inSeconds = (seconds: number): string => isoSeconds(now() + 1000 * seconds)

t.test('bouncers', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  const opened = async () => {
    const me = await api.account()
    const { id: policyId } = await me.ipPolicy.create({})
    const made = await me.bouncer.create({ description: 'a firewall', ip_policy_ids: [policyId] })
    const token = String(made.token)
    const pull = async (of = api, query = ''): Promise<Decisions> => {
      const answer = await send(of, token, `/v1/decisions/stream${query}`)
      if (answer.statusCode !== 200) throw new Error(answer.payload)
      return JSON.parse(answer.payload)
    }
    const deny = (cidr: string, more = {}) =>
      me.ipPolicyRule.create({ ip_policy_id: policyId, cidr, action: 'deny', ...more })
    return { me, policyId, id: made.id, token, pull, deny }
  }
  const valuesOf = (decisions: readonly Decision[]) => decisions.map(({ value }) => value).toSorted()
  /** Pulls until a pull is empty: changes are repeated, since no one knows whether an answer has arrived. */
  const settled = async (pull: () => Promise<Decisions>): Promise<void> => {
    for (let pulls = 0; pulls < 4; pulls += 1) {
      const { new: added, deleted } = await pull()
      if (added.length + deleted.length === 0) return
    }
    throw new Error('Pulls have changes again and again.')
  }

  t.test('the token is shown once, and opens nothing else', async (t) => {
    const { me, id, token } = await opened()
    t.equal((await me.bouncer.get(id)).token, null)
    t.equal(await statusOf(all(me.withToken(token).ipPolicy.list())), 401)
    const { payload, statusCode } = await send(api, me.token, '/v1/decisions/stream?startup=true')
    t.equal(statusCode, 403, 'nor does a key open this door')
    t.match(JSON.parse(payload), { message: 'No bouncer has this token.' }, 'in the form that bouncers know')
    t.equal((await send(api, undefined, '/v1/decisions')).statusCode, 401)
    t.equal((await send(api, token, '/v1/decisions', 'HEAD')).statusCode, 200)
    t.equal((await send(api, token, '/v1/decisions/stream', 'HEAD')).statusCode, 200)
    const metrics = { payload: '{"remediation_components":[]}', 'content-type': 'application/json' }
    t.equal((await send(api, token, '/v1/usage-metrics', 'POST', metrics)).statusCode, 201)
    t.match(await me.bouncer.get(id), { last_used_at: /^2/ }, 'the last pull is visible')
    const large = { payload: Buffer.alloc(2 * 1024 * 1024), 'content-type': 'application/json' }
    t.equal((await send(api, 'guess', '/v1/usage-metrics', 'POST', large)).statusCode, 403, 'before a body')
    t.equal((await send(api, token, '/v1/usage-metrics', 'POST', large)).statusCode, 413)
    await me.bouncer.delete(id)
    t.equal((await send(api, token, '/v1/decisions')).statusCode, 403)
  })

  t.test("the account's restriction of the API counts for its bouncers", async (t) => {
    const { me, pull, token } = await opened()
    const { id } = await me.ipPolicy.create({})
    await me.ipPolicyRule.create({ ip_policy_id: id, cidr: '127.0.0.0/8', action: 'allow' })
    await me.ipRestriction.create({ type: 'api', enforced: true, ip_policy_ids: [id] })
    t.strictSame((await pull(api, '?startup=true')).new, [], 'from an address that it allows')
    const elsewhere = await api.app.inject({
      method: 'GET',
      url: '/v1/decisions',
      headers: { 'x-api-key': token },
      remoteAddress: '203.0.113.5',
    })
    t.equal(elsewhere.statusCode, 403)
    t.match(elsewhere.json(), { message: /203\.0\.113\.5/ }, 'it says which address is refused')
  })

  t.test('everything, then what is new and what is deleted', async (t) => {
    const { me, policyId, pull, deny } = await opened()
    const other = await opened()
    await other.deny('192.0.2.77/32')
    await me.ipPolicyRule.create({ ip_policy_id: policyId, cidr: '0.0.0.0/0', action: 'allow' })
    const one = await deny('203.0.113.9/32', { description: 'scans', expires_at: inSeconds(7200) })
    await deny('2001:db8::/32')
    const shadow = await deny('203.0.113.8/32', { enforced: false })
    const first = await pull(api, '?startup=true')
    t.strictSame(first.deleted, [])
    t.strictSame(valuesOf(first.new), ['2001:db8::/32', '203.0.113.9'], 'of the own policies, enforced')
    const ban = first.new.find(({ value }) => value === '203.0.113.9')
    t.match(ban, {
      scope: 'Ip',
      origin: 'weir',
      type: 'ban',
      scenario: 'scans',
      duration: /^(1h59m\d+s|2h0m0s)$/,
    })
    t.ok(Number.isSafeInteger(ban?.id))
    t.match(ban, { uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/ })
    t.match(
      first.new.find(({ scope }) => scope === 'Range'),
      { scenario: 'weir', duration: '87600h0m0s' },
    )
    t.strictSame(
      await pull(),
      { deleted: [], new: [] },
      'a bouncer without an answer to its start starts again',
    )

    await me.ipPolicyRule.delete(one.id)
    await me.ipPolicyRule.update(shadow.id, { enforced: true })
    const second = await pull()
    t.match([valuesOf(second.new), valuesOf(second.deleted)], [['203.0.113.8'], ['203.0.113.9']])
    t.equal(second.deleted[0]?.id, ban?.id, 'by the same id')
    const repeated = await pull()
    t.match([valuesOf(repeated.new), valuesOf(repeated.deleted)], [['203.0.113.8'], ['203.0.113.9']], 'twice')
    t.strictSame(await pull(), { deleted: [], new: [] })
    const all = await pull(api, '?startup=true')
    t.strictSame(valuesOf(all.new), ['2001:db8::/32', '203.0.113.8'])
  })

  t.test('a ban that expires is deleted', async (t) => {
    const { pull, deny } = await opened()
    const expires_at = inSeconds(2)
    await deny('203.0.113.9/32', { expires_at })
    t.equal((await pull(api, '?startup=true')).new.length, 1)
    await until('it has expired', () => now() >= Date.parse(expires_at))
    t.strictSame(valuesOf((await pull()).deleted), ['203.0.113.9'])
    t.strictSame(valuesOf((await pull()).deleted), ['203.0.113.9'])
    t.strictSame(await pull(), { deleted: [], new: [] })
  })

  t.test('an API process that has just started, or another one, goes on', async (t) => {
    const { me, policyId, id, pull, deny } = await opened()
    const gone = await deny('203.0.113.1/32')
    await deny('203.0.113.2/32')
    await pull(api, '?startup=true')
    const brief = await deny('203.0.113.3/32')
    t.strictSame(valuesOf((await pull()).new), ['203.0.113.3'])
    await me.ipPolicyRule.delete(gone.id)
    await me.ipPolicyRule.delete(brief.id)
    await deny('203.0.113.4/32')
    const restarted = await store.api({})
    const { new: added, deleted } = await pull(restarted)
    t.match([valuesOf(added), valuesOf(deleted)], [['203.0.113.4'], ['203.0.113.1', '203.0.113.3']])
    const back = await pull(api)
    t.notOk(
      back.deleted.some(({ value }) => ['203.0.113.2', '203.0.113.4'].includes(value)),
      'the first one learns of the pull from the other',
    )
    const { id: empty } = await me.ipPolicy.create({})
    await settled(pull)
    await me.bouncer.update(id, { ip_policy_ids: [empty] })
    t.strictSame(valuesOf((await pull()).deleted), ['203.0.113.2', '203.0.113.4'], 'other policies')
    t.equal((await me.ipPolicyUses(policyId)).uses.length, 0)
    t.match((await me.ipPolicyUses(empty)).uses, [{ kind: 'bouncer', id }])
  })

  t.test('answers that perhaps did not arrive are told again, by any process', async (t) => {
    const { me, id, pull, deny } = await opened()
    const { store: parts, keyUses } = api.parts
    const bans = () => new AccountBans(parts.pastRows, { bouncerTooLarge: () => {} })
    const process = () => new BouncerPulls(bans(), keyUses)
    const everything = { all: false, isWanted: () => true }
    /** A pull whose connection ends before the answer does. */
    const lost = (of = process()) => {
      const bouncer = parts.view.state.rows.get('bouncer')!.get(id) as unknown as DeclaredRow<'bouncer'>
      return of.pull(parts.view, { bouncer, address: '127.0.0.1' }, everything)
    }
    const told = ({ added, deleted }: Awaited<ReturnType<typeof lost>>) => [
      [...added].flatMap((ban) => ban?.cidr ?? []),
      deleted.map(({ cidr }) => cidr).toSorted(),
    ]
    const [one, two, three] = ['203.0.113.1/32', '203.0.113.2/32', '203.0.113.3/32']
    const kept = await deny(one)
    t.strictSame(told(await lost()), [[one], []])
    t.strictSame(valuesOf((await pull()).new), ['203.0.113.1'], 'the first of all')
    const brief = await deny(two)
    await me.ipPolicyRule.delete(kept.id)
    t.strictSame(told(await lost()), [[two], [one]])
    await me.ipPolicyRule.delete(brief.id)
    const last = await deny(three)
    const answer = await pull(await store.api({}))
    t.strictSame(valuesOf(answer.new), ['203.0.113.3'])
    t.strictSame(valuesOf(answer.deleted), ['203.0.113.1', '203.0.113.2'], 'what it had, and may have got')
    await settled(pull)

    const same = process()
    await me.ipPolicyRule.delete(last.id)
    const first = await lost(same)
    t.strictSame(told(first), [[], [three]])
    const again = await deny(three)
    const second = await lost(same)
    t.strictSame(told(second), [[three], []], 'pulled again at once: it may have lost it, or not')
    second.sent()
    first.sent()
    await me.ipPolicyRule.delete(again.id)
    t.strictSame(told(await lost(same)), [[], [three]], 'in whichever order the two arrived')
  })

  t.test('questions about one address or range', async (t) => {
    const { token, deny } = await opened()
    await deny('203.0.113.0/24', { description: 'abuse of mail' })
    await deny('203.0.113.9/32')
    const ask = async (query: string) =>
      (JSON.parse((await send(api, token, `/v1/decisions?${query}`)).payload) ?? []).map(
        ({ value }: Decision) => value,
      )
    t.strictSame(await ask('ip=203.0.113.9'), ['203.0.113.9', '203.0.113.0/24'])
    t.strictSame(await ask('ip=203.0.113.10'), ['203.0.113.0/24'])
    t.strictSame(await ask('scope=ip&value=203.0.113.10'), ['203.0.113.0/24'])
    t.strictSame(await ask('range=203.0.113.0/25'), ['203.0.113.0/24'])
    t.strictSame(await ask('range=203.0.113.0/25&contains=false'), ['203.0.113.9'])
    t.strictSame(await ask('scenarios_containing=mail'), ['203.0.113.0/24'])
    t.strictSame(await ask('scenarios_not_containing=mail'), ['203.0.113.9'])
    t.strictSame(await ask('scope=username&value=x'), [])
    t.strictSame(await ask('ip=203.0.113.9&origins=CAPI'), [])
    t.strictSame(await ask('ip=203.0.113.9&type=captcha'), [])
    t.equal((await send(api, token, '/v1/decisions?ip=198.51.100.1')).payload, 'null')
    t.equal((await send(api, token, '/v1/decisions?ip=here')).statusCode, 400)
    const scoped = await send(api, token, '/v1/decisions/stream?startup=true&scopes=ip')
    t.strictSame(valuesOf((JSON.parse(scoped.payload) as Decisions).new), ['203.0.113.9'])
  })

  const makeList = async (me: Caller, name: string, entries: NewListEntries): Promise<string> => {
    const { id } = await me.ipList.create({ name })
    await me.listEntries.replace(id, entries)
    return id
  }

  t.test('entries of IP lists are bans: of its own, and those that rules name', async (t) => {
    const { me, policyId, id, token, pull, deny } = await opened()
    const other = await opened()
    const entries = [{ cidr: '203.0.113.1', comment: 'seen in a log' }, { cidr: '203.0.113.2' }]
    const named = await makeList(me, 'named', entries)
    const own = await makeList(me, 'own.list', [
      { cidr: '203.0.113.2', expires_at: inSeconds(7200) },
      { cidr: '198.51.100.0/24', comment: 'guests' },
    ])
    await me.bouncer.update(id, { ip_list_ids: [own] })
    t.match(await me.bouncer.get(id), { ip_lists: [{ id: own }], ip_policies: [{ id: policyId }] })
    const rule = await deny('203.0.113.3/32')
    const byList = await me.ipPolicyRule.create({ ip_policy_id: policyId, list_id: named, action: 'deny' })
    const first = await pull(api, '?startup=true')
    const kept = Object.fromEntries(
      first.new.map(({ value, origin, scenario, duration }) => [value, [origin, scenario, duration]]),
    )
    const lasting = '87600h0m0s'
    t.strictSame(kept, {
      '203.0.113.1': ['weir', 'seen in a log', lasting],
      '203.0.113.2': ['weir', 'named', lasting],
      '203.0.113.3': ['weir', 'weir', lasting],
      '198.51.100.0/24': ['lists', 'own.list', lasting],
    })
    const ask = async (query: string) =>
      JSON.parse((await send(api, token, `/v1/decisions?${query}`)).payload)
    t.match(await ask('ip=203.0.113.2'), [{ origin: 'weir' }], 'by the one that lasts longest')
    t.match(await ask('ip=203.0.113.2&origins=lists'), [{ origin: 'lists', duration: /^[12]h/ }])
    t.match(await ask('origins=lists:own.list&contains=false&range=198.51.0.0/16'), [
      { scenario: 'own.list' },
    ])
    t.equal((await ask('origins=lists:named')) as unknown, null)

    await me.ipPolicyRule.update(byList.id, { description: 'abuse', expires_at: inSeconds(3600) })
    await me.listEntries.replace(own, [{ cidr: '203.0.113.2', expires_at: inSeconds(7200) }])
    const elsewhere = await pull(await store.api({}))
    t.match(
      elsewhere.new.toSorted((one, two) => one.value.localeCompare(two.value)),
      [
        { value: '203.0.113.1', scenario: 'seen in a log', duration: /^(59m|0h59m|1h0m)/ },
        { value: '203.0.113.2', origin: 'lists', scenario: 'own.list' },
      ],
      'a process that read the entries of then from ClickHouse',
    )
    t.strictSame(new Set(valuesOf(elsewhere.deleted)), new Set(['198.51.100.0/24']))
    await settled(pull)
    await me.ipPolicyRule.delete(byList.id)
    await me.ipPolicyRule.delete(rule.id)
    const last = await pull()
    t.strictSame(last.new, [])
    t.strictSame(
      last.deleted.map(({ value, origin }) => `${origin} ${value}`).toSorted(),
      ['lists 203.0.113.1', 'lists 203.0.113.3', 'weir 203.0.113.1', 'weir 203.0.113.3'],
      'from the sets of all origins: a ban may have come by another one',
    )
    await settled(pull)

    t.equal(await statusOf(me.ipList.delete(own)), 400, 'a list in use stays')
    t.equal(await statusOf(me.bouncer.update(id, { ip_policy_ids: null, ip_list_ids: null })), 400)
    t.equal(await statusOf(me.bouncer.create({})), 400, 'a bouncer enforces something')
    t.equal(
      await statusOf(other.me.bouncer.create({ ip_list_ids: [own] })),
      404,
      'lists of others are unknown',
    )
    const { id: alone } = await me.bouncer.create({ ip_list_ids: [named] })
    t.match(await me.bouncer.get(alone), { ip_policies: [], ip_lists: [{ id: named }] })
  })

  t.test('an entry that expires is deleted', async (t) => {
    const { me, id, pull } = await opened()
    const expires_at = inSeconds(2)
    const list = await makeList(me, 'brief', [{ cidr: '203.0.113.9', expires_at }, { cidr: '203.0.113.8' }])
    await me.bouncer.update(id, { ip_list_ids: [list], ip_policy_ids: null })
    t.equal((await pull(api, '?startup=true')).new.length, 2)
    await until('it has expired', () => now() >= Date.parse(expires_at))
    t.strictSame(valuesOf((await pull()).deleted), ['203.0.113.9'])
    t.strictSame(valuesOf((await pull()).deleted), ['203.0.113.9'])
    t.strictSame(await pull(), { deleted: [], new: [] })
  })

  t.test('too many bans are refused when they are saved, and later when they are asked for', async (t) => {
    const { me, policyId, id, token } = await opened()
    const text = Array.from({ length: 150_001 }, (_, n) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`).join(
      '\n',
    )
    const lists = await Promise.all(['a', 'b'].map(async (name) => (await me.ipList.create({ name })).id))
    for (const list of lists) await me.listEntries.replace(list, { text, format: 'lines' })
    const message = /300002 bans: at most 300000 deny rules and entries of IP lists are allowed/
    const [one = '', two = ''] = lists
    await me.bouncer.update(id, { ip_list_ids: [one] })
    await t.rejects(me.bouncer.update(id, { ip_list_ids: lists }), { message })
    const denied = { ip_policy_id: policyId, list_id: two, action: 'deny' as const }
    await t.rejects(me.ipPolicyRule.create(denied), { message })
    await me.listEntries.replace(two, [{ cidr: '203.0.113.1' }])
    await me.ipPolicyRule.create(denied)
    t.equal((await send(api, token, '/v1/decisions?ip=203.0.113.1')).statusCode, 200)
    await me.listEntries.replace(two, { text, format: 'lines' })
    const refusal = await send(api, token, '/v1/decisions/stream')
    t.equal(refusal.statusCode, 400)
    t.match(refusal.json(), { message: new RegExp(`${id} would have 300002 bans.*(${one}|${two})`) })
    t.match(api.log(), /has more bans than are allowed/)
  })

  t.test('very many bans: the whole pull, a change, and polls without one', async (t) => {
    const { me, policyId, token, pull, deny } = await opened()
    const rules = Array.from({ length: manyBans }, (_, index) => ({
      cidr: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}/32`,
      action: 'deny' as const,
      description: 'listed',
    }))
    await me.replaceRules(policyId, rules)
    const gzip = { 'accept-encoding': 'gzip' }
    const wholePull = () => send(api, token, '/v1/decisions/stream?startup=true', 'GET', gzip)
    const whole = await wholePull()
    const begun = process.cpuUsage()
    await wholePull()
    const { user, system } = process.cpuUsage(begun)
    t.comment(`whole pull: ${Math.round((user + system) / 1000)} ms of CPU, ${whole.rawPayload.length} bytes`)
    t.equal(whole.headers['content-encoding'], 'gzip')
    const decisions = JSON.parse(gunzipSync(whole.rawPayload).toString()) as Decisions
    t.equal(decisions.new.length, manyBans)
    t.equal(new Set(decisions.new.map(({ id }) => id)).size, manyBans, 'each has an id of its own')
    const polls = isFull ? 500 : 50
    const polling = process.cpuUsage()
    for (let n = 0; n < polls; n += 1) await pull()
    const spent = process.cpuUsage(polling)
    t.comment(`a poll without changes: ${Math.round((spent.user + spent.system) / polls)} µs of CPU`)
    await deny('192.0.2.1/32')
    t.strictSame(valuesOf((await pull()).new), ['192.0.2.1'])
  })
})
