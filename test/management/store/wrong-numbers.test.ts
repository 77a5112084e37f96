/** Numbers in the configuration bucket that a start waits for, and that are wrong: each heals, and is reported. */

import t, { type Test } from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { jsonOf } from '../../../src/ground/core/bytes.js'
import type { Bucket } from '../../../src/ground/nats/bucket.js'
import { type AccountState, type Meta, metaKey, stateKey } from '../../../src/words/view/keys.js'
import { total } from '../../harness/metrics.js'
import { isReady, metricsOf, readyOf } from '../../harness/pages.js'
import { run } from '../../harness/processes.js'
import { until } from '../../harness/weir.js'
import { everything, fill, openFixture, takesWrites } from './filled-store.js'

// One store for all tests, because starts take longest.
const fixture = await openFixture(t)
let api = await fixture.startApi()
await fill(api.client)
await fixture.command('one', { command: 'account create', name: 'another' })
const config = (await (await fixture.nats()).findBucket(bucketNames.config)) as Bucket
const states = await config.keys(stateKey('*'))

const read = async <T>(key: string): Promise<T> => jsonOf<T>((await config.get(key))!.value!)
const metaNow = () => read<Meta>(metaKey)
const countsNow = async (): Promise<AccountState['counts'][]> =>
  Promise.all(states.map(async (key) => (await read<AccountState>(key)).counts))

const whole = { meta: await metaNow(), counts: await countsNow() }

interface Wrong {
  readonly name: string
  readonly accounts: (right: number) => unknown
  readonly epoch: (right: number) => unknown
  readonly count: (right: number) => unknown
}

const wrongs: readonly Wrong[] = [
  {
    name: 'too high',
    accounts: (right) => right + 1,
    epoch: () => Number.MAX_SAFE_INTEGER,
    count: (right) => right + 1,
  },
  {
    name: 'too low',
    accounts: (right) => right - 1,
    epoch: () => -1,
    count: (right) => right - 1,
  },
  { name: 'no numbers', accounts: () => 'many', epoch: () => null, count: () => 'some' },
]

async function makeWrong({ accounts, epoch, count }: Wrong): Promise<void> {
  const meta = { ...whole.meta, accounts: accounts(whole.meta.accounts), epoch: epoch(whole.meta.epoch) }
  await config.put(metaKey, JSON.stringify(meta))
  for (const key of states) {
    const state = await read<AccountState>(key)
    const counts = Object.entries(state.counts).map(([kind, right]) => [kind, count(right)])
    await config.put(key, JSON.stringify({ ...state, counts: Object.fromEntries(counts) }))
  }
}

async function untilHealed(t: Test): Promise<void> {
  await until(
    'the number of accounts is right',
    async () => (await metaNow()).accounts === whole.meta.accounts,
  )
  const right = JSON.stringify(whole.counts)
  const isRight = async () => {
    const counts = await countsNow()
    // A kind without rows needs no entry, and one API key less does not count as a lack.
    return (
      JSON.stringify(counts) === right || counts.every((each, index) => isSame(each, whole.counts[index]!))
    )
  }
  await until('the rows of each account are', isRight)
  const { epoch } = await metaNow()
  t.ok(epoch > 0 && epoch < 2 ** 50, `so is the epoch ${epoch}`)
}

const isSame = (one: AccountState['counts'], other: AccountState['counts']): boolean =>
  Object.keys({ ...one, ...other }).every((kind) => (one[kind] ?? 0) === (other[kind] ?? 0))

const isFull = process.argv.includes('--full')
const everyRole = ['pipeline', 'deliver', 'decide'] as const

t.test('under a running API: roles that start become ready', async (t) => {
  for (const [at, wrong] of wrongs.entries()) {
    await makeWrong(wrong)
    // All look for it in the same way: each meets one of them, and every one with `--full`.
    const some = isFull ? everyRole : [everyRole[at % everyRole.length]!]
    const roles = await Promise.all(some.map((role) => fixture.startRole(role)))
    for (const { url, process } of roles)
      await until(`${wrong.name}: ${process.output()}`, () => isReady(url).catch(() => false))
    await untilHealed(t)
    t.ok(await isReady(api.url), `${wrong.name}: the API is ready all the time`)
    t.ok(await takesWrites(api))
    for (const { process } of roles) await process.kill()
    whole.counts = await countsNow()
  }
  t.ok(total(await metricsOf(api.url), 'weir_configuration_incomplete_total') > 0, 'it was reported')
})

/** The next test starts one with the first of them, too. */
const [, ...others] = wrongs

t.test('an API that starts becomes ready', async (t) => {
  for (const wrong of others) {
    const before = await everything(api)
    await api.process.kill()
    await makeWrong(wrong)
    api = await fixture.startApi()
    await until(`${wrong.name}: ready`, () => isReady(api.url))
    t.equal(await everything(api), before, `${wrong.name}: nothing is lost`)
    await untilHealed(t)
  }
})

t.test('without an API, a role says what it waits for, until one starts', async (t) => {
  const before = await everything(api)
  await api.process.kill()
  await makeWrong(wrongs[0]!)
  const role = await fixture.startRole('pipeline')
  const waits = /waits for a complete configuration: the bucket has 2 accounts, and its key "meta" says 3/
  await until('/readyz says it', async () => {
    const { status, failing } = await readyOf(role.url).catch(() => ({ status: 0, failing: {} }))
    return status === 503 && waits.test(JSON.stringify(failing).replaceAll('\\', ''))
  })
  await role.process.line(/the bucket has 2 accounts.*configuration bucket is not complete/)
  t.notOk(await isReady(role.url))
  api = await fixture.startApi()
  await until('the role is ready', () => isReady(role.url))
  await until('and so is the API', () => isReady(api.url))
  t.equal(await everything(api), before, 'nothing is lost')
  await untilHealed(t)
})

t.test('weir store adopt gets by with each of them', async (t) => {
  const before = await everything(api)
  for (const wrong of wrongs) {
    await makeWrong(wrong)
    t.match(await fixture.command('one', { command: 'store adopt' }), /rebuilt from ClickHouse/)
    await untilHealed(t)
    t.equal(await everything(api), before, `${wrong.name}: nothing is lost`)
  }
  t.ok(await takesWrites(api))
  await api.process.kill()
  await makeWrong(wrongs[0]!)
  const alone = run('programs/main.js', ['store', 'adopt'], fixture.environment('alone'))
  await alone.line(/rebuilt from ClickHouse/)
  t.equal((await alone.ended).code, 0, 'also on its own')
})
