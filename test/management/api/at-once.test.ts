/** Requests at the same time are bounded: large bodies, and every operation that costs more than its rate says. */

import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { boundsAtOnce, patienceMs } from '../../../src/management/http/bounds/at-once.js'
import { openTestStore } from '../../harness/api.js'
import { type Caller, refused } from '../../harness/caller.js'
import { portOf, RawConnection } from '../../harness/raw-connection.js'
import { until } from '../../harness/weir.js'

t.test('at the same time', { timeout: 300_000 }, async (t) => {
  const registry = createRegistry()
  const store = await openTestStore(t)
  /** Searches of the log wait for this. */
  let go = (): void => {}
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  let searches = 0
  const log = {
    ...store.parts.log,
    page: async () => {
      searches += 1
      await gate
      return { rows: [], next: undefined }
    },
  }
  const api = await store.api({
    occurrences: createOccurrences({ logger: createLogger('test', 'silent'), registry }),
    log: log as never,
  })
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const [me, second, third] = [await api.account(), await api.account(), await api.account()]
  const connect = (t: Test): RawConnection => {
    const raw = new RawConnection(portOf(api.app))
    t.teardown(() => raw.destroy())
    return raw
  }
  const head = (request: string, { token }: Caller, ...more: readonly string[]): string[] => [
    `${request} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Service-Version: 2',
    ...more,
    '',
    '',
  ]
  const rules = Array.from({ length: 12_000 }, (_, n) => ({
    cidr: `10.0.${n >> 8}.${n & 255}/32`,
    action: 'allow',
  }))
  const body = JSON.stringify({ rules })
  const json = 'Content-Type: application/json'
  const length = `Content-Length: ${body.length}`
  /** A request with a large body that is counted, and of whose body nothing was sent. */
  const begun = async (path: string, caller: Caller): Promise<RawConnection> => {
    const raw = connect(t)
    raw.send(...head(path, caller, json, length, 'Expect: 100-continue'))
    await raw.answered(1)
    return raw
  }
  const pathOf = async (caller: Caller, query = '?validate_only=true'): Promise<string> =>
    `PUT /ip_policies/${(await caller.ipPolicy.create({})).id}/rules${query}`
  const refusals = async (bound: string): Promise<string[]> =>
    (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('weir_api_refused_at_once_total{') && line.includes(bound))

  await t.test(
    'a second large body of an account is refused before it is read',
    { timeout: 120_000 },
    async (t) => {
      const path = await pathOf(me)
      const first = await begun(path, me)
      const others = connect(t)
      others.send(...head(path, me, json, length))
      const [refusal] = await others.answered(1)
      t.match(refusal, { status: 503, head: /^Retry-After: 5$/im })
      const problem = JSON.parse(refusal!.body)
      t.match(problem, { error_code: 'ERR_UNAVAILABLE', msg: /^Too many requests with a body/ })
      t.match(await refusals('large_body'), [/bound="large_body",scope="account"\} 1$/])
      others.send(body)
      others.send(...head('GET /ip_policies', me))
      await others.answered(2)
      t.strictSame(others.statuses, [503, 200], 'the connection can be used after the body')

      const chunked = connect(t)
      chunked.send(...head(path, me, json, 'Transfer-Encoding: chunked'))
      chunked.send(`${body.length.toString(16)}`, body, '0', '', '')
      t.match(await chunked.answered(1), [{ status: 503, head: /^Retry-After: 5$/im }], 'of unknown length')

      const small = connect(t)
      small.send(...head(path, me, json, 'Content-Length: 12'))
      small.send('{"rules":[]}')
      t.match(await small.answered(1), [{ status: 200 }], 'small bodies are served')

      const other = await begun(await pathOf(second), second)
      const last = connect(t)
      last.send(...head(await pathOf(third), third, json, length))
      t.match(await last.answered(1), [{ status: 503, body: /at most 2 of all accounts/ }])
      t.match(await refusals('large_body'), [/scope="account"\} 2$/, /scope="process"\} 1$/])

      first.send(body)
      t.match((await first.answered(2))[1], { status: 200, body: /"added":12000/ }, 'the first one is served')
      other.destroy()
      await until('the places are free again', async () => {
        const next = connect(t)
        next.send(...head(path, me, json, length))
        next.send(body)
        return (await next.answered(1))[0]!.status === 200
      })
      t.notMatch(api.log(), /could not be served/, 'a refusal is no fault of the store')
    },
  )

  await t.test('records are published by several at once, whatever their length', async (t) => {
    const { perAccount } = boundsAtOnce.publish
    const lines = ' '.repeat(300_000)
    const parts = ['Content-Type: application/x-ndjson', `Content-Length: ${lines.length}`]
    const publish = (path: string, ...more: string[]) => {
      const raw = connect(t)
      raw.send(...head(path, third, ...parts, ...more))
      return raw
    }
    const raws = Array.from({ length: perAccount }, () => publish('POST /records', 'Expect: 100-continue'))
    for (const raw of raws) await raw.answered(1)
    t.match(await publish('POST /records').answered(1), [
      {
        status: 503,
        head: /^Retry-After: 1$/im,
        body: /^\{"error_code":"ERR_UNAVAILABLE".*Too many requests that publish/,
      },
    ])
    parts[0] = json
    t.match(await publish('POST /v1/logs').answered(1), [
      {
        status: 503,
        head: /^Retry-After: 1$/im,
        body: /^\{"code":14,"message":"Too many requests that publish/,
      },
    ])
    for (const raw of raws) raw.send(lines)
    for (const raw of raws) t.match((await raw.answered(2))[1], { status: 200 })
  })

  await t.test('rules are not replaced for a client that is gone', { timeout: 120_000 }, async (t) => {
    const path = await pathOf(me, '')
    const [, id = ''] = /policies\/(\w+)\//.exec(path) ?? []
    const long = JSON.stringify({
      rules: Array.from({ length: 100_000 }, (_, n) => ({
        cidr: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}/32`,
        action: 'deny',
      })),
    })
    const raw = connect(t)
    raw.send(...head(path, me, json, `Content-Length: ${long.length}`))
    raw.send(long)
    await raw.sent()
    raw.destroy()
    await until('its place is free', async () => {
      const next = connect(t)
      next.send(...head(await pathOf(me), me, json, length))
      next.send(body)
      return (await next.answered(1))[0]!.status === 200
    })
    t.strictSame((await store.parts.store.settled(me.accountId)).rules(id)?.rules ?? [], [], 'none is stored')
  })

  await t.test('searches keep their places until they have ended', async (t) => {
    const { perAccount } = boundsAtOnce.log_search
    const raws = Array.from({ length: perAccount }, () => connect(t))
    for (const raw of raws) raw.send(...head('GET /decisions', me))
    await until('all search', () => searches === perAccount)
    // An embedded search can't be stopped, so a client that leaves makes no room for another.
    raws[0]!.destroy()
    t.match(await refused(503, me.decisions({}).next()), /^Too many searches .* at most 10 of an account/)
    const waiting = connect(t)
    waiting.send(...head('GET /decisions', me))
    t.equal((await me.raw.send('GET', '/ip_policies')).status, 200, 'others are answered meanwhile')
    t.equal(searches, perAccount, 'it waits')
    go()
    for (const raw of [...raws.slice(1), waiting]) t.match(await raw.answered(1), [{ status: 200 }])
    await until('there is room again', async () => (await me.raw.send('GET', '/decisions')).status === 200)
  })
})

t.test('docs/api.md lists every bound', async (t) => {
  const page = readFileSync('docs/api.md', 'utf8').replaceAll('\n  ', ' ')
  for (const [name, { what, perAccount, perProcess }] of Object.entries(boundsAtOnce))
    t.ok(page.includes(`| ${what} | ${perAccount} | ${perProcess} | \`${name}\` |`), name)
  const waiting = Object.entries(boundsAtOnce).flatMap(([name, { waits }]) => (waits ? [`\`${name}\``] : []))
  t.ok(page.includes(`- These wait: ${waiting.join(', ')}.`))
  t.ok(page.includes(`up to ${patienceMs / 1000} s`))
})
