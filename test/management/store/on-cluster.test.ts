/** API processes whose ClickHouse is a cluster, as far as one server can be one (`harness/clickhouse-cluster.ts`). */
import t from 'tap'
import { eachOf } from '../../../src/ground/core/concurrency.js'
import { all, refused } from '../../harness/caller.js'
import { until } from '../../harness/weir.js'
import { everything, fill, openFixture, takesWrites } from './filled-store.js'

t.setTimeout(300_000)

const fixture = await openFixture(t, { isCluster: true })
let [one, two] = await Promise.all([fixture.startApi('one'), fixture.startApi('two')])
/** How many rows of IP policies are stored, before the engine merges equal ones. */
async function rowsWhere(condition: string): Promise<number> {
  const query = `SELECT count() AS rows FROM ip_policy_versions WHERE ${condition}`
  const answer = await fixture.command('one', { command: 'sql', query, format: 'json' })
  return (JSON.parse(answer) as { rows: number }).rows
}
const isReady = async ({ url }: { readonly url: string }) => (await fetch(`${url}/readyz`)).ok

const changing = (from: number) =>
  fixture.front
    .statements()
    .slice(from)
    .filter(({ sql }) => /^(CREATE|ALTER|DROP)/.test(sql))

t.test('what two processes write, and carry out for each other, is stored once', async (t) => {
  // On a busy machine, a look at ClickHouse may have taken too long at the start.
  const areReady = async () => (await Promise.all([one, two].map(isReady))).every(Boolean)
  await until('both are ready', areReady)
  await fill(one.client)
  const numbers = Array.from({ length: 20 }, (_, at) => String(at))
  await Promise.all(
    [one, two].map(({ client }) =>
      eachOf(numbers, 8, (description) => client.ipPolicy.create({ description })),
    ),
  )
  const policies = await all(one.client.ipPolicy.list())
  await until('both know all', async () => (await all(two.client.ipPolicy.list())).length === policies.length)
  t.equal(policies.length, 41)
  const inserts = fixture.front.statements().filter(({ sql }) => /^INSERT INTO \w+_versions/.test(sql))
  t.ok(inserts.length > 40)
  for (const { preamble, sql } of inserts) t.match(preamble, /insert_deduplication_token = 'ac_\w+:\d+'/, sql)
  // The versions of the policy that was deleted, and of those that are there.
  t.equal(await rowsWhere('true'), 43)
})

t.test('an insert whose confirmation was lost is repeated, and stored once', async (t) => {
  const begun = fixture.front.statements().length
  const inserted = () =>
    fixture.front
      .statements()
      .slice(begun)
      .filter(({ sql }) => sql.startsWith('INSERT INTO ip_policy_versions'))
  await fixture.front.mode('unconfirmed')
  t.ok(await refused(503, one.client.ipPolicy.create({ description: 'begun' })))
  await fixture.front.mode('ok')
  const found = async () =>
    (await all(two.client.ipPolicy.list())).filter(({ description }) => description === 'begun')
  await until('it was carried out again', async () => (await found()).length === 1)
  const tokens = inserted().map(({ preamble }) => /insert_deduplication_token = '[^']+'/.exec(preamble)?.[0])
  t.ok(tokens.length > 1)
  t.strictSame(new Set(tokens).size, 1)
  const [policy] = await found()
  t.equal(await rowsWhere(`id = '${policy?.id}'`), 1)
})

t.test('without most of the servers, nothing is written until they are back', async (t) => {
  const rows = await rowsWhere('true')
  await fixture.front.mode('minority')
  const isNoticed = async () => /Too few servers/.test(await (await fetch(`${one.url}/readyz`)).text())
  await until('it is noticed', isNoticed)
  t.match(
    await refused(503, one.client.ipPolicy.create({})),
    /Too few servers of the ClickHouse cluster are up/,
  )
  t.equal((await all(one.client.ipPolicy.list())).length, 42, 'reads go on')
  t.equal(await rowsWhere('true'), rows)
  await fixture.front.mode('ok')
  await until('writes go on', () => takesWrites(one))
})

t.test('a restart changes no table, and finds everything', async (t) => {
  const before = await everything(two)
  const from = fixture.front.statements().length
  await two.process.kill()
  ;[one, two] = await Promise.all([fixture.startApi('one'), fixture.startApi('two')])
  t.strictSame(changing(from), [])
  t.equal(await everything(one), before)
  t.equal(await everything(two), before)
})
