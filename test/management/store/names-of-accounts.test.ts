/**
 * Names of several accounts, with two API processes on one store: also of writes at the same time, no account takes names of
 * another.
 */
import fc from 'fast-check'
import t from 'tap'
import { namesOfClaim, overlap } from '../../../src/words/resource/fields/claimed-names.js'
import { all, type Caller, refusalOf, statusOf } from '../../harness/caller.js'
import { until } from '../../harness/weir.js'
import { newAccount, openFixture } from './filled-store.js'

t.setTimeout(600_000)

const isFull = process.argv.includes('--full')
const fixture = await openFixture(t)
const [one, two] = await Promise.all([fixture.startApi('one'), fixture.startApi('two')])

/** Each account as both processes serve it. */
const accounts: [Caller, Caller][] = []
for (let made = 0; made < 3; made += 1) {
  const token = await newAccount(fixture)
  const callers: [Caller, Caller] = [one.client.withToken(token), two.client.withToken(token)]
  for (const caller of callers)
    await until('the account is known', async () => (await statusOf(all(caller.tcpEdge.list()))) === 'ok')
  accounts.push(callers)
}

interface Held {
  readonly account: number
  readonly claim: string
}

/** The claims of each account, as the process shows them. */
async function claimsHeld(process: 0 | 1): Promise<Held[]> {
  const held = accounts.map(async (callers, account) => {
    const { tcpEdge, httpsEdge, domain } = callers[process]
    const edges = [...(await all(tcpEdge.list())), ...(await all(httpsEdge.list()))]
    const hostports = edges.flatMap((edge) => edge.hostports ?? []).map((text) => `hostport.${text}`)
    const domains = (await all(domain.list())).map((each) => `domain.${each.domain}`)
    return [...hostports, ...domains].map((claim) => ({ account, claim }))
  })
  return (await Promise.all(held)).flat()
}

/** The claims that both processes show. Each shows its own writes at once, and those of the other soon. */
async function claimsOfAll(): Promise<Held[]> {
  let held: Held[] = []
  await until('both show the same', async () => {
    held = await claimsHeld(0)
    return JSON.stringify(held) === JSON.stringify(await claimsHeld(1))
  })
  return held
}

const conflictsIn = (held: readonly Held[]): string[] => {
  const named = held.map((each) => ({ ...each, names: namesOfClaim(each.claim, 'weir.localhost')! }))
  return named.flatMap((mine, at) =>
    named
      .slice(at + 1)
      .filter((their) => their.account !== mine.account && overlap(mine.names, their.names))
      .map((their) => `${mine.claim} of ${mine.account}, ${their.claim} of ${their.account}`),
  )
}

async function nothingLeft(): Promise<void> {
  for (const [caller] of accounts)
    for (const list of [caller.tcpEdge, caller.httpsEdge, caller.domain])
      for (const { id } of await all<{ id: string }>(list.list())) await list.delete(id)
}

t.test('a wildcard, a name below it and a domain at the same time: one account gets it', async (t) => {
  const races = isFull ? 100 : 12
  for (let turn = 0; turn < races; turn += 1) {
    const domain = `race${turn}.example.com`
    const calls = [
      accounts[0]![0].tcpEdge.create({ hostports: [`*.${domain}:443`] }),
      accounts[1]![1].httpsEdge.create({ hostports: [`pay.${domain}:443`] }),
      accounts[2]![turn % 2]!.domain.create({ domain }),
    ]
    const statuses = await Promise.all(calls.map(statusOf))
    t.strictSame(statuses.sort(), [409, 409, 'ok'], domain)
  }
  t.strictSame(conflictsIn(await claimsOfAll()), [])
  await nothingLeft()
})

const domain = fc.constantFrom('a.b.test', 'x.a.b.test', 'y.x.a.b.test', 'c.test', 'z.c.test')
const wide = fc.tuple(fc.boolean(), domain).map(([isWide, name]) => (isWide ? `*.${name}` : name))
const hostport = fc.tuple(wide, fc.constantFrom('443', '22', '*')).map(([host, port]) => `${host}:${port}`)
const kind = fc.constantFrom('tcpEdge' as const, 'httpsEdge' as const)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), kind, hostport }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reserve' as const), domain: wide }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('change' as const), kind, hostport }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), kind }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

async function take(caller: Caller, asked: Step): Promise<unknown> {
  if (asked.do === 'create') return caller[asked.kind].create({ hostports: [asked.hostport] })
  if (asked.do === 'reserve') return caller.domain.create({ domain: asked.domain })
  const list = asked.do === 'release' ? caller.domain : caller[asked.kind]
  const [first] = await all<{ id: string }>(list.list())
  if (first === undefined) return
  if (asked.do === 'change') return caller[asked.kind].update(first.id, { hostports: [asked.hostport] })
  return list.delete(first.id)
}

t.test('whatever three accounts do at once', async (t) => {
  const turns = fc.array(fc.tuple(step, step, step, fc.nat(7)), { minLength: 3, maxLength: 8 })
  const outcomes: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(turns, async (steps) => {
      for (const [first, second, third, processes] of steps) {
        const calls = [first, second, third].map((asked, account) =>
          refusalOf(take(accounts[account]![(processes >> account) & 1]!, asked)),
        )
        for (const refusal of await Promise.all(calls)) {
          const outcome = refusal?.error_code ?? 'ok'
          outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
        }
      }
      t.strictSame(conflictsIn(await claimsOfAll()), [])
      await nothingLeft()
    }),
    { numRuns: isFull ? 200 : 12 },
  )
  t.ok(outcomes['ok'], 'some succeed')
  t.ok(outcomes['ERR_NAME_RESERVED'], 'and some are refused')
  const others = Object.keys(outcomes).filter(
    (code) => !['ok', 'ERR_NAME_RESERVED', 'ERR_CONFLICT', 'ERR_NOT_FOUND'].includes(code),
  )
  t.strictSame(others, [])
})
