/** The list of edges: what was decided at each, however many there are. And their forms. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { until } from '../../harness/weir.js'
import { inBrowser, newAccount, openSignedIn, untilAllInUse } from './visitor.js'

/** More than the number of values that sums list by default, and than the 20 busiest. */
const busyCount = 23

t.test('edges in the console', inBrowser(), async (t) => {
  await t.test('every edge shows its own numbers, an idle one zeros', async (t) => {
    const me = await newAccount()
    const run = randomBytes(4).toString('hex')
    const hostOf = (index: number): string => `edge-${index}-${run}.example.com`
    const inbound = [
      { name: 'odd', expressions: ['conn.client_port % 2 == 1'], actions: [{ type: 'deny' as const }] },
      {
        name: 'no result',
        expressions: ['double(conn.server_name) > 1'],
        actions: [{ type: 'log' as const, config: { Metadata: {} } }],
      },
    ]
    for (let index = 0; index <= busyCount; index++)
      await me.api.tcpEdge.create({ hostports: [`${hostOf(index)}:22`], policies: { inbound } })
    // The edge at each index, but for the idle one at the end, lets in so many and one more, and denies one.
    const records = Array.from({ length: busyCount }, (_, index) =>
      Array.from({ length: index + 2 }, (_, at) => ({
        record_id: `${run}-${index}-${at}`,
        type: 'tcp_connection' as const,
        conn: {
          client_ip: '198.51.100.7',
          client_port: at === 0 ? 1_001 : 2_000,
          server_name: hostOf(index),
          server_port: 22,
        },
      })),
    ).flat()
    await untilAllInUse()
    const { refused_count, ...said } = await me.api.publishRecords(records)
    if (refused_count > 0) throw new Error(JSON.stringify(said))
    await until('all are judged', async () => {
      const { counts } = await me.api.stats({ interval: 'hour', since: '24h' })
      return counts.reduce((sum, { allow, deny }) => sum + allow + deny, 0) === records.length
    })
    await until('expressions without a result are noted', async () => {
      const { expression_failures } = await me.api.expressionFailures({ limit: 100 })
      return expression_failures.length === busyCount
    })

    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see('console/edges')
    const shown = async (index: number): Promise<string[]> => {
      const cells = page.locator('tbody tr', { hasText: hostOf(index) }).locator('td')
      return (await cells.allInnerTexts()).slice(-4)
    }
    await until('numbers are shown', async () => (await shown(busyCount)).join() === '0,0,0,0')
    for (let index = 0; index < busyCount; index++)
      t.strictSame((await shown(index)).slice(0, 3), [`${index + 1}`, '0', '1'], hostOf(index))
    for (let index = 0; index < busyCount; index++)
      t.not((await shown(index))[3], '0', `${hostOf(index)} has expressions without a result`)
    t.match(
      await page.locator('tbody tr').first().textContent(),
      hostOf(busyCount - 1),
      'the busiest is first',
    )
    t.strictSame(visitor.complaints, [])
  })

  await t.test('an HTTPS edge is changed to refuse targets that servers read differently', async (t) => {
    const me = await newAccount()
    const host = `strict-${randomBytes(4).toString('hex')}.example.com`
    const visitor = await openSignedIn(t, me.token, { expected: /^400 PATCH \/edges/ })
    const { page } = visitor
    const choice = page.getByLabel('Paths that servers read differently')
    const fact = page.locator('dl.facts dt', { hasText: 'Ambiguous targets' })
    const save = async (name: string): Promise<void> => {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await visitor.settled()
    }
    const { id } = await me.api.httpsEdge.create({ hostports: [`${host}:443`] })
    const edit = () => page.getByRole('button', { name: 'Edit', exact: true }).first().click()
    await visitor.see(`console/edges/${id}`)
    await visitor.edit()
    await edit()
    await choice.waitFor()
    t.equal(await choice.inputValue(), 'judge', 'the default')
    await choice.selectOption('refuse')
    await save('Save')
    t.equal(await fact.locator('+ dd').textContent(), 'refused: requests whose path servers read differently')
    t.match(await me.api.httpsEdge.get(id), { hostports: [`${host}:443`], ambiguous_targets: 'refuse' })

    await edit()
    t.equal(await choice.inputValue(), 'refuse')
    await choice.selectOption('judge')
    await save('Save')
    t.equal((await me.api.httpsEdge.get(id)).ambiguous_targets, 'judge')
    t.equal(await fact.count(), 0)

    const plain = await me.api.httpsEdge.create({ hostports: [`plain-${host}:443`] })
    await visitor.see(`console/edges/${plain.id}?edit=edge`)
    await page.getByLabel('Description').fill('another text')
    await save('Save')
    const { description, ambiguous_targets } = await me.api.httpsEdge.get(plain.id)
    t.strictSame(
      [description, ambiguous_targets],
      ['another text', undefined],
      'an edit of something else leaves it',
    )
    const tcp = await me.api.tcpEdge.create({ hostports: [`${host}:22`] })
    await visitor.see(`console/edges/${tcp.id}?edit=edge`)
    const names = page.getByLabel('Host names and ports')
    await names.fill('no port')
    t.equal(await choice.count(), 0, 'TCP has no targets')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('.field', { has: names }).locator('.fault').waitFor()
    t.equal(await page.getByRole('dialog').locator('.failure').count(), 0, 'it is said once, at its field')
    t.strictSame(visitor.complaints, [])
  })
})
