/** Names of several accounts: none takes requests from the policies of another. */
import t from 'tap'
import { grantRight, revokeRight } from '../../../src/management/write/accounts.js'
import { lintReport } from '../../../src/outside/cli/lint-report.js'
import { ApiError } from '../../../src/words/client/api-error.js'
import { openTestStore } from '../../harness/api.js'
import { type Caller, refusalOf, refused } from '../../harness/caller.js'
import { createUnclaimed } from '../../harness/unclaimed-names.js'

t.test('names of several accounts', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [mine, theirs] = [await api.account('owner'), await api.account('other')]
  const wide = await mine.tcpEdge.create({ hostports: ['*.shop.names.example:443'] })
  const exact = await mine.httpsEdge.create({ hostports: ['www.taken.names.example:443'] })
  const domain = await mine.domain.create({ domain: 'app.names.example' })

  const taken = async (what: string, call: Promise<unknown>): Promise<void> => {
    const refusal = await refusalOf(call)
    t.match(refusal, { status_code: 409, error_code: 'ERR_NAME_RESERVED' }, what)
    const says = JSON.stringify(refusal)
    for (const { id } of [wide, exact, domain]) t.notMatch(says, id, 'no hint about whose')
    t.notMatch(says, mine.accountId)
  }

  t.test('a name at or below one of another account, or above', async (t) => {
    const hostports = [
      'pay.shop.names.example:443',
      'Pay.Shop.Names.example:443',
      'shop.names.example:443',
      '*.pay.shop.names.example:443',
      '*.shop.names.example:*',
      'pay.shop.names.example:*',
      '*.taken.names.example:443',
      '*.taken.names.example:*',
      '*.names.example:443',
      'app.names.example:8443',
      'x.app.names.example:22',
      '*.app.names.example:*',
    ]
    for (const hostport of hostports) {
      await taken(
        `a TCP edge: ${hostport}`,
        theirs.tcpEdge.create({ hostports: ['free.names.example:1', hostport] }),
      )
      await taken(`an HTTPS edge: ${hostport}`, theirs.httpsEdge.create({ hostports: [hostport] }))
    }
    const domains = ['pay.shop.names.example', 'shop.names.example', '*.shop.names.example', 'names.example']
    domains.push('taken.names.example', '*.taken.names.example', 'www.taken.names.example')
    domains.push('*.app.names.example', 'x.app.names.example')
    for (const name of domains) await taken(`a domain: ${name}`, theirs.domain.create({ domain: name }))
    for (const hostports of [['*.shop.names.example:443'], ['www.taken.names.example:443']])
      t.match(
        await refused(400, theirs.tcpEdge.create({ hostports })),
        'another edge',
        'the same text is taken, as ever',
      )
    t.match(await refused(400, theirs.domain.create({ domain: 'app.names.example' })), 'reserved already')
    const free = await theirs.tcpEdge.create({ hostports: ['free.names.example:1'] })
    t.ok(free.id, 'nothing was kept of those that were refused')
  })

  t.test('names that do not overlap', async () => {
    const hostports = [
      'pay.shop.names.example:8443',
      '*.shop.names.example:8443',
      'www.taken.names.example:8443',
      'x.www.taken.names.example:443',
      'myshop.names.example:443',
      'names.example:443',
    ]
    for (const hostport of hostports) {
      const { id } = await theirs.tcpEdge.create({ hostports: [hostport] })
      await theirs.tcpEdge.delete(id)
    }
  })

  t.test('the account itself may name more exactly', async () => {
    const { id } = await mine.httpsEdge.create({ hostports: ['pay.shop.names.example:443'] })
    await mine.httpsEdge.delete(id)
    await mine.domain.create({ domain: 'pay.app.names.example' })
  })

  t.test('changes, rehearsals and restorations', async (t) => {
    const edge = await theirs.tcpEdge.create({ hostports: ['one.names.example:443'] })
    await taken('PATCH', theirs.tcpEdge.update(edge.id, { hostports: ['pay.shop.names.example:443'] }))
    for (const query of ['?validate_only=true', '']) {
      const body = { hostports: ['pay.shop.names.example:443'] }
      await taken(`POST ${query}`, sent(theirs, 'POST', `/edges/https${query}`, body))
      await taken(`PATCH ${query}`, sent(theirs, 'PATCH', `/edges/tcp/${edge.id}${query}`, body))
      await taken(
        `a domain ${query}`,
        sent(theirs, 'POST', `/reserved_domains${query}`, { domain: 'x.shop.names.example' }),
      )
    }
    const { version } = store.parts.store.view.state.rows.get('tcp_edge')!.get(edge.id)!
    await theirs.tcpEdge.delete(edge.id)
    const above = await mine.domain.create({ domain: 'one.names.example' })
    await taken('restore', sent(theirs, 'POST', `/edges/tcp/${edge.id}/restore?version=${version}`, {}))
    await mine.domain.delete(above.id)
    t.match(await sent(theirs, 'POST', `/edges/tcp/${edge.id}/restore?version=${version}`, {}), {
      id: edge.id,
    })
  })

  t.test('a name is free once its account gave it back', async () => {
    const edge = await mine.tcpEdge.create({ hostports: ['*.back.names.example:443'] })
    const create = () => theirs.httpsEdge.create({ hostports: ['a.back.names.example:443'] })
    await taken('before', create())
    await mine.tcpEdge.update(edge.id, { hostports: null })
    await create()
    await taken('the other way', mine.tcpEdge.update(edge.id, { hostports: ['*.back.names.example:443'] }))
  })

  t.test('names from before stay, and are findings of both', async (t) => {
    const [first, second] = [await api.account('first'), await api.account('second')]
    await first.tcpEdge.create({ hostports: ['free.before.example:1', '*.shop.before.example:443'] })
    await first.domain.create({ domain: 'app.before.example' })
    const below = ['pay.shop.before.example:443', 'api.before.example:443']
    const id = await createUnclaimed(store.parts, second.accountId, 'https_edge', { hostports: below })
    await createUnclaimed(store.parts, second.accountId, 'domain', { domain: '*.before.example' })
    const found = async (account: Caller) => {
      const { findings, kinds } = await account.findings()
      const names = findings.filter(({ kind }) => kind === 'name_overlaps')
      t.match(
        kinds.find(({ kind }) => kind === 'name_overlaps'),
        { found: names.length, unknown: null },
      )
      for (const { sentence } of names) t.notMatch(sentence, /ac_|edg|rd_/)
      return names.map(({ about, sentence }) => `${about.place} ${/^"[^"]*"/.exec(sentence)}`).sort()
    }
    t.strictSame(await found(first), [
      'domain "app.before.example"',
      'hostports[0] "free.before.example:1"',
      'hostports[1] "*.shop.before.example:443"',
    ])
    t.strictSame(await found(second), [
      'domain "*.before.example"',
      'hostports[0] "pay.shop.before.example:443"',
    ])
    t.match(lintReport(await second.findings()), 'pay.shop.before.example:443')
    t.match(await second.httpsEdge.update(id, { description: 'still mine' }), { hostports: below })
    t.match(await second.httpsEdge.update(id, { hostports: [below[0]!] }), { hostports: [below[0]] })
    await taken(
      'another one',
      second.httpsEdge.update(id, { hostports: [below[0]!, 'x.shop.before.example:443'] }),
    )
  })

  t.test('catch-alls need a right that an operator gives', async (t) => {
    const catchAlls = ['*:4431', '*:*', '*.example:4431']
    for (const hostport of catchAlls) {
      t.match(
        await refused(403, theirs.tcpEdge.create({ hostports: [hostport] })),
        /catch_all_allowed.*operator/,
      )
      t.match(await refused(403, theirs.httpsEdge.create({ hostports: [hostport] })), hostport)
    }
    await grantRight(store.parts.store, theirs.accountId, 'catch_all_allowed')
    const edge = await theirs.tcpEdge.create({ hostports: catchAlls })
    await mine.tcpEdge.create({ hostports: ['any.names.example:4431'] })
    t.notOk((await theirs.findings()).findings.some(({ kind }) => kind === 'name_overlaps'))
    await revokeRight(store.parts.store, theirs.accountId, 'catch_all_allowed')
    t.match(await theirs.tcpEdge.update(edge.id, { description: 'it stays' }), { hostports: catchAlls })
    const { findings } = await theirs.findings()
    t.strictSame(
      findings.filter(({ kind }) => kind === 'name_overlaps').map(({ about }) => about.place),
      ['hostports[0]', 'hostports[1]', 'hostports[2]'],
    )
    await theirs.tcpEdge.update(edge.id, { hostports: ['*:4431'] })
    await refused(403, theirs.tcpEdge.update(edge.id, { hostports: ['*:4431', '*:*'] }))
    await theirs.tcpEdge.delete(edge.id)
  })
})

const sent = async (caller: Caller, method: string, path: string, body: unknown): Promise<unknown> => {
  const answer = await caller.raw.send(method, path, { body })
  if (answer.status < 300) return JSON.parse(answer.text)
  throw new ApiError(path, answer.status, answer.text)
}
