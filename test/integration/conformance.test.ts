/** The contract, checked against a deployment from outside: all of it is held, and a promise that is broken is found. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { openBreakingProxy } from '../conformance/broken/breaking-proxy.js'
import { breaksOf } from '../conformance/broken/breaks.js'
import { clauses, runContract } from '../conformance/run.js'
import type { Target } from '../conformance/visit.js'
import { type Running, run } from '../harness/processes.js'
import { startTcpProxy } from '../harness/tcp-proxy.js'
import { tempDir } from '../harness/temp-dir.js'
import { type RunningWeir, startWeir } from '../harness/weir.js'
import { token } from './deployment.js'

interface Deployment {
  readonly weir: RunningWeir
  readonly otherKey: string
  readonly decideUrl: string
}

/** Promises that this deployment can't be asked about, and why. */
const notChecked: Readonly<Record<number, string>> = {}

/** A busy machine may take longer than is promised. */
const patience = 10

async function open(t: Test): Promise<Deployment> {
  const decidePort = await freePort()
  const dataDir = tempDir(t)
  const weir = await startWeir(dataDir, {
    WEIR_BOOTSTRAP_TOKEN: token,
    WEIR_RATE_LIMIT: '0',
    WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8',
    WEIR_TRUST_PROXY: '127.0.0.1/32',
    WEIR_DECIDE_PORT: String(decidePort),
  })
  t.teardown(() => weir.stop())
  const created = run('programs/main.js', ['account', 'create', '--name', 'other'], {
    WEIR_DATA_DIR: dataDir,
  })
  const [otherKey = ''] = await created.line(/weir_[\w-]+/)
  await created.ended
  return { weir, otherKey, decideUrl: `http://127.0.0.1:${decidePort}` }
}

const command = (args: readonly string[], key = token): Running =>
  run('test/conformance/main.js', args, { WEIR_API_KEY: key })

/** What the run left in the account, of the kinds that it makes. */
async function madeIn({ api }: RunningWeir): Promise<string[]> {
  const lists = [
    api.tcpEdge,
    api.httpsEdge,
    api.ipPolicy,
    api.eventDestination,
    api.eventSubscription,
    api.domain,
  ]
  const ids: string[] = []
  for (const list of lists) for await (const { id } of list.list()) ids.push(id)
  return ids
}

t.test('the contract', async (t) => {
  const deployment = await open(t)
  const { weir, otherKey, decideUrl } = deployment
  const listen = `127.0.0.1:${await freePort()}`

  await t.test('all of it is held, nothing is left behind, and no secret is printed', async (t) => {
    const running = command([
      ...['--url', weir.url, '--other-key', otherKey, '--decide-url', decideUrl, '--nats', weir.natsUrl],
      ...['--listen', listen, '--limits', '--patience', String(patience), '--rate', '100000', '--json'],
    ])
    const { code } = await running.ended
    const text = running.output()
    const { promises, left } = JSON.parse(text.slice(text.indexOf('\n{') + 1)) as {
      readonly promises: readonly { readonly number: number; readonly state: string }[]
      readonly left: readonly string[]
    }
    const wanted = clauses.map(({ number }) => ({
      number,
      state: number in notChecked ? 'not_checked' : 'held',
    }))
    t.strictSame(
      promises.filter(({ number, state }) => wanted.find((each) => each.number === number)?.state !== state),
      [],
      'what was found otherwise than it should be',
    )
    t.equal(promises.length, wanted.length, 'all promises')
    t.strictSame(left, [])
    t.strictSame(await madeIn(weir), [])
    t.equal(code, 0)
    const password = new URL(weir.natsUrl).password
    for (const secret of [token, otherKey, password]) t.notOk(text.includes(secret), 'no secret')
  })

  await t.test('a run that is read-only changes nothing', async (t) => {
    const { token: key, id } = await weir.api.apiKey.create({ rights: ['read'] })
    const newest = async () => (await weir.api.changes().next()).value?.version
    const before = await newest()
    const junit = join(tempDir(t), 'conformance.xml')
    const running = command(['--url', weir.url, '--read-only', '--junit', junit], key!)
    t.match(await running.ended, { code: 0 })
    t.match(running.output(), /^ {2}held +1705/m)
    t.match(running.output(), / 0 broken/)
    t.equal(await newest(), before)
    t.match(readFileSync(junit, 'utf8'), /<testcase classname="conformance" name="101 [^>]+\/>/)
    await weir.api.apiKey.delete(id)
  })

  await t.test('one that is interrupted removes what it made', async (t) => {
    const running = command(['--url', weir.url, '--only', '400,700'])
    await running.line(/^ {2}held +401/)
    running.child.kill('SIGINT')
    t.match(await running.ended, { code: 1 })
    t.match(running.output(), /not checked: the run was interrupted/)
    t.strictSame(await madeIn(weir), [])
  })

  await t.test('called wrongly, and without a service', async (t) => {
    for (const args of [['--url'], ['--url', weir.url, '--only', '99'], ['--url', weir.url, '--wrong']])
      t.match(await command(args).ended, { code: 2 }, args.join(' '))
    t.match(await command(['--url', `http://127.0.0.1:${await freePort()}`]).ended, { code: 4 })
    const planned = command(['--url', weir.url, '--plan'])
    t.match(await planned.ended, { code: 0 })
    t.match(planned.output(), /this run writes, all of it as "conformance-[0-9a-f]{10}"/)
  })

  await t.test('a broken promise is reported with its page, the question and the answer', async (t) => {
    const proxy = await openBreakingProxy(t, weir.url)
    proxy.breaks = breaksOf(token).find(({ number }) => number === 101)!.by
    const running = command(['--url', proxy.url, '--only', '101'])
    t.match(await running.ended, { code: 1 })
    const said = [
      /^ {2}BROKEN +101 .*$/,
      /^ +page: +docs\/api\.md#requests$/,
      /^ +asked: +GET \/ip_policies$/,
      /^ +should: +WWW-Authenticate is Bearer, not $/,
      /^ +came: +401 \{"error_code":"ERR_UNAUTHENTICATED"/,
    ]
    for (const line of said) t.match(running.output(), new RegExp(line.source, 'm'))
  })

  await t.test('each promise that is broken is found by its number', async (t) => {
    const [api, decide] = [await openBreakingProxy(t, weir.url), await openBreakingProxy(t, decideUrl)]
    const events = await openBreakingProxy(t, `http://${listen}`)
    const target: Target = {
      url: api.url,
      key: token,
      otherKey,
      decideUrl: decide.url,
      listen,
      listenUrl: events.url,
      isWithLimits: true,
      perMinuteMax: 100_000,
    }
    for (const { number, name, at = 'api', by } of breaksOf(token)) {
      const proxy = { api, decide, events }[at]
      proxy.breaks = by
      const outcome = await runContract(target, {
        only: [number],
        // What is removed then must not be broken, too.
        onResult: () => {
          proxy.breaks = {}
        },
      })
      const [result] = outcome.results
      t.equal(result?.state, 'broken', `${number}: ${name}`, { result })
      t.strictSame(outcome.left, [], `${number}: nothing is left behind`)
    }
    t.strictSame(await madeIn(weir), [])
  })

  await t.test('a broken reply over NATS is found', async (t) => {
    const forged = await startTcpProxy(
      weir.natsUrl,
      (client, upstream) => void client.pipe(upstream),
      // As long as before, so that the frame stays whole.
      (upstream, client) =>
        upstream.on('data', (bytes) =>
          client.write(
            Buffer.from(bytes.toString('latin1').replaceAll('"served":true', '"served":null'), 'latin1'),
          ),
        ),
    )
    t.teardown(() => forged.close())
    const natsUrl = forged.url.replace(
      'nats://',
      `nats://${new URL(weir.natsUrl).username}:${new URL(weir.natsUrl).password}@`,
    )
    const { results } = await runContract({ url: weir.url, key: token, natsUrl }, { only: [1601] })
    t.match(results, [{ state: 'broken', finding: { should: /serves the name/ } }])
  })

  await t.test('no promise is held by answers that say nothing', async (t) => {
    const nothing = await openBreakingProxy(t)
    const target: Target = {
      url: nothing.url,
      key: token,
      otherKey,
      decideUrl: nothing.url,
      listen,
      isWithLimits: true,
      patience: 0.02,
      perMinuteMax: 100_000,
    }
    const { results } = await runContract(target)
    t.strictSame(
      results.filter(({ state }) => state === 'held').map(({ clause }) => clause.number),
      [],
    )
    t.ok(results.filter(({ state }) => state === 'broken').length > 100)
  })
})
