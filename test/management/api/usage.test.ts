/** Requests and failed logins are counted for all API processes together, approximately. */
import fc from 'fast-check'
import t from 'tap'
import { usageSubject } from '../../../src/delivery/wire/names.js'
import { failedLoginsPerMinuteMax } from '../../../src/ground/core/limits.js'
import { ReleaseStack } from '../../../src/ground/core/release.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { RateWindows } from '../../../src/management/access/rate-windows.js'
import { exchangeUsage, Usage, usageLimits } from '../../../src/management/access/usage.js'
import { openTestStore, type TestApi } from '../../harness/api.js'
import { all, statusOf } from '../../harness/caller.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

/** A process with its own clock. */
class Process {
  readonly usage: Usage
  nowMs: number

  constructor(perMinute: number, nowMs = 0) {
    this.nowMs = nowMs
    this.usage = new Usage(perMinute, { nowMs: () => this.nowMs })
  }

  request = (account = 'ac_1') => this.usage.requests.take(account)
}

/** Every process sends one message, which all of them receive, the sender included. */
function exchange(...processes: readonly Process[]): void {
  const messages = processes.flatMap(({ usage }) => usage.nextMessage() ?? [])
  for (const message of messages)
    for (const { usage } of processes)
      if (usage.receive(Buffer.from(message)) !== undefined) throw new Error(message)
}

const sent = ({ usage }: Process) => JSON.parse(usage.nextMessage() ?? 'null')

t.test('two processes', async (t) => {
  t.test('enforce the limit over their combined count', (t) => {
    const [one, two] = [new Process(4), new Process(4)]
    for (const process of [one, two, one]) t.equal(process.request(), undefined)
    exchange(one, two)
    t.equal(two.request(), undefined, 'the fourth')
    t.equal(two.request(), 60, 'the fifth')
    t.equal(
      one.request(),
      undefined,
      'requests that the other counted since its last message are not known yet',
    )
    exchange(one, two)
    t.equal(one.request(), 60)
    t.equal(one.request('ac_2'), undefined, 'another account has its own count')
    t.end()
  })

  t.test('count failed logins together', (t) => {
    const [one, two] = [new Process(0), new Process(0)]
    for (let tries = 0; tries < failedLoginsPerMinuteMax / 2; tries += 1)
      for (const { usage } of [one, two]) t.equal(usage.failedLogins.take('198.51.100.7'), undefined)
    exchange(one, two)
    for (const { usage } of [one, two]) {
      t.equal(usage.failedLogins.take('198.51.100.7'), 60)
      t.equal(usage.failedLogins.take('198.51.100.8'), undefined)
    }
    t.end()
  })

  t.test('agree on when a window ends, however far apart their clocks are', (t) => {
    const [one, two] = [new Process(1, 1_000), new Process(1, 7_000_000_000)]
    const pass = (ms: number) => {
      for (const process of [one, two]) process.nowMs += ms
    }
    one.request()
    pass(20_000)
    exchange(one, two)
    t.equal(one.request(), 40)
    t.equal(two.request(), 40, 'the seconds to wait are right in the process that counted nothing')
    pass(39_999)
    for (const process of [one, two]) t.equal(process.request(), 1)
    pass(1)
    t.equal(two.request(), undefined, 'the next window')
    pass(10_000)
    t.equal(one.request(), undefined)
    exchange(one, two)
    for (const process of [one, two]) t.equal(process.request(), 50, 'it ends when the one opened first ends')
    t.end()
  })

  t.test('count alone while disconnected, and together again afterwards', (t) => {
    const [one, two] = [new Process(3), new Process(3)]
    for (const process of [one, two, one, two]) t.equal(process.request(), undefined)
    exchange(one, two)
    for (const process of [one, two]) t.equal(process.request(), 60)
    t.end()
  })

  t.test('forget counts that were not sent within a minute', (t) => {
    const one = new Process(3)
    one.request()
    one.nowMs += 60_000
    t.equal(one.usage.nextMessage(), undefined)
    t.end()
  })
})

t.test('a message', async (t) => {
  t.test('contains the counts since the last one, and is omitted without any', (t) => {
    const one = new Process(3)
    t.equal(one.usage.nextMessage(), undefined)
    one.request()
    one.request()
    one.nowMs += 7
    one.usage.failedLogins.take('2001:db8::/64')
    t.match(sent(one), {
      requests: [{ key: 'ac_1', count: 2, age_ms: 7 }],
      failed_logins: [{ key: '2001:db8::/64', count: 1, age_ms: 0 }],
    })
    t.equal(one.usage.nextMessage(), undefined)
    one.request()
    t.match(sent(one).requests, [{ key: 'ac_1', count: 1, age_ms: 7 }])
    t.ok(one.request(), 'one too many')
    t.equal(one.usage.nextMessage(), undefined, 'which is not counted')
    const unlimited = new Process(0)
    for (let times = 0; times < 100; times += 1) t.equal(unlimited.request(), undefined)
    t.equal(unlimited.usage.nextMessage(), undefined, 'nor is anything without a limit')
    t.end()
  })

  t.test('has a maximum number of keys, and the next one has the rest', (t) => {
    const { keysPerMessageMax, messageBytesMax } = usageLimits
    const [one, two] = [new Process(1), new Process(1)]
    const keys = Array.from({ length: keysPerMessageMax + 1 }, (_, n) => `ac_${String(n).padStart(64, '0')}`)
    for (const key of keys) {
      one.request(key)
      one.usage.failedLogins.take(key.slice(0, 46))
    }
    const message = one.usage.nextMessage() ?? ''
    t.equal(JSON.parse(message).requests.length, keysPerMessageMax)
    t.ok(message.length < messageBytesMax, `${message.length} bytes`)
    t.equal(two.usage.receive(Buffer.from(message)), undefined)
    exchange(one, two)
    t.equal(keys.filter((key) => two.request(key) === undefined).length, 0)
    t.end()
  })

  t.test('that is invalid is ignored as a whole', (t) => {
    const good = { key: 'ac_1', count: 1, age_ms: 0 }
    const whole = { from: 'another', requests: [good], failed_logins: [] }
    const withEntry = (entry: unknown) => ({ ...whole, failed_logins: [entry] })
    const texts = ['', '{', '\u0000', ' '.repeat(usageLimits.messageBytesMax + 1)]
    const values: unknown[] = [
      null,
      [],
      7,
      {},
      { ...whole, from: 1 },
      { ...whole, requests: null },
      { from: 'another', requests: [good] },
      { ...whole, failed_logins: Array(usageLimits.keysPerMessageMax + 1).fill(good) },
      ...[null, 'ac_1', [], { ...good, key: '' }, { ...good, key: 'x'.repeat(129) }].map(withEntry),
      ...[0, -1, 0.5, '1', null, 1e10].map((count) => withEntry({ ...good, count })),
      ...[-1, 0.5, '1', null, 60_001].map((age_ms) => withEntry({ ...good, age_ms })),
    ]
    const one = new Process(1)
    for (const text of [...texts, ...values.map((value) => JSON.stringify(value))]) {
      const reason = one.usage.receive(Buffer.from(text))
      t.type(reason, 'string', text.slice(0, 80))
      t.ok(String(reason).length < 300, String(reason))
    }
    t.equal(one.request(), undefined, 'nothing of them was counted')
    const later = { ...whole, since_2030: true, requests: [{ ...good, more: 1 }] }
    t.equal(one.usage.receive(Buffer.from(JSON.stringify(later))), undefined, 'unknown fields are not read')
    t.end()
  })
})

t.test('the number of windows is bounded: the oldest is evicted', (t) => {
  const windows = new RateWindows({ perMinute: 1, keysMax: 2 })
  for (const key of ['a', 'b', 'c']) windows.take(key)
  t.strictSame(
    windows.takeUnsent(10).map(({ key }) => key),
    ['b', 'c'],
  )
  t.ok(windows.take('c'), 'known')
  t.equal(windows.take('a'), undefined, 'forgotten')
  windows.add({ key: 'd', count: 1, age_ms: 0 })
  t.ok(windows.take('d'))
  t.ok(windows.take('a'))
  t.equal(windows.take('c'), undefined, 'counts of other processes evict, too')
  t.end()
})

t.test('a process refuses exactly if its own and received counts reach the limit', (t) => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ by: fc.nat(2), account: fc.constantFrom('ac_1', 'ac_2') }) },
    { weight: 1, arbitrary: fc.constant('exchange' as const) },
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 80 }), (perMinute, steps) => {
      const processes = [0, 1, 2].map(() => new Process(perMinute))
      const known = processes.map(() => new Map<string, number>())
      const unsent = processes.map(() => new Map<string, number>())
      for (const each of steps) {
        if (each === 'exchange') {
          exchange(...processes)
          for (const [sender, counts] of unsent.entries()) {
            for (const [account, count] of counts)
              for (const [hearer, all] of known.entries())
                if (hearer !== sender) all.set(account, (all.get(account) ?? 0) + count)
            counts.clear()
          }
          continue
        }
        const { by, account } = each
        const isOver = processes[by]!.request(account) !== undefined
        const count = known[by]!.get(account) ?? 0
        if (isOver !== count >= perMinute) return false
        if (isOver) continue
        known[by]!.set(account, count + 1)
        unsent[by]!.set(account, (unsent[by]!.get(account) ?? 0) + 1)
      }
      return true
    }),
  )
  t.end()
})

/** Remembers all messages received over NATS, its own included. */
class RecordingUsage extends Usage {
  readonly #received = new Map<string, number>()

  override receive(data: Uint8Array): string | undefined {
    const wrong = super.receive(data)
    if (wrong !== undefined) return wrong
    const { requests, failed_logins } = JSON.parse(Buffer.from(data).toString())
    for (const { key, count } of [...requests, ...failed_logins])
      this.#received.set(key, this.received(key) + count)
    return undefined
  }

  received = (key: string): number => this.#received.get(key) ?? 0
}

t.test('while NATS is away, each process counts by itself', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const release = new ReleaseStack()
  t.teardown(() => release.release())
  const report = (fields: object) => t.fail(JSON.stringify(fields))
  const open = async () => {
    const nats = release.own(await openNats({ servers: [server.url], name: 'test', replicas: 1 }))
    const usage = new RecordingUsage(2)
    release.own(exchangeUsage(nats, usage, { usageMessageIgnored: report, usageUnshared: report }))
    return { nats, usage }
  }
  const both = [await open(), await open()]
  const take = () => both.map(({ usage }) => usage.requests.take('ac_1') === undefined)
  await server.kill()
  await until('both know', () => both.every(({ nats }) => !nats.isConnected))
  t.strictSame(
    [take(), take(), take()],
    [
      [true, true],
      [true, true],
      [false, false],
    ],
  )
  await server.start()
  // The first one back may send before the other has subscribed again, but receives what that one sends.
  await until('what was counted is sent', () => both.some(({ usage }) => usage.received('ac_1') === 4))
})

t.test('two APIs on one nats-server', async (t) => {
  const limit = 6
  const store = await openTestStore(t)
  const { nats } = store.parts
  const reported: object[] = []
  const report = (fields: object) => void reported.push(fields)
  const usages = [new RecordingUsage(limit), new RecordingUsage(limit)]
  const apis: TestApi[] = []
  for (const usage of usages) {
    store.release.own(exchangeUsage(nats, usage, { usageMessageIgnored: report, usageUnshared: report }))
    apis.push(await store.api({ usage }))
  }
  const me = await apis[0]!.account()
  const bothReceived = (key: string, count: number) =>
    until(`both received ${count}`, () => usages.every((usage) => usage.received(key) === count))
  /** Sends this many requests to each of the two. */
  const statuses = async (token: string, times: number, from: string): Promise<Set<number>> => {
    const found = new Set<number>()
    for (let turn = 0; turn < times; turn += 1)
      for (const api of apis)
        found.add((await api.stranger(token).raw.send('GET', '/ip_policies', { from })).status)
    return found
  }

  await t.test('requests of an account', async (t) => {
    const from = '192.0.2.1'
    t.strictSame(await statuses(me.token, limit / 2, from), new Set([200]))
    await bothReceived(me.accountId, limit)
    t.strictSame(await statuses(me.token, 2, from), new Set([429]))
    const refused = await me.raw.send('GET', '/ip_policies')
    t.match(refused.headers['retry-after'], /^([1-9]|[1-5]\d|60)$/)
    const other = await apis[1]!.account()
    t.equal(await statusOf(all(other.ipPolicy.list())), 'ok', 'another account has its own count')
  })

  await t.test('failed logins of an address', async (t) => {
    const from = '198.51.100.7'
    t.strictSame(await statuses('guess', failedLoginsPerMinuteMax / 2, from), new Set([401]))
    await bothReceived(from, failedLoginsPerMinuteMax)
    t.strictSame(await statuses('guess', 2, from), new Set([429]))
    t.strictSame(await statuses('guess', 1, '198.51.100.8'), new Set([401]), 'another address')
    const { token } = await apis[0]!.account()
    t.strictSame(await statuses(token, 1, from), new Set([200]), 'a valid key always passes')
  })

  await t.test('an invalid message is reported and ignored', async (t) => {
    nats.emit(usageSubject, '{"from":')
    await until('both reported it', () => reported.length === 2)
    t.match(reported, [{ reason: /JSON/ }, { reason: /JSON/ }])
    t.strictSame(await statuses('guess', 1, '198.51.100.9'), new Set([401]))
    await bothReceived('198.51.100.9', 2)
  })
})
