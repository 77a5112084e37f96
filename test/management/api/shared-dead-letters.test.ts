/** Dead letters that share a stored message, and those that name no account: who sees them, and what becomes of each. */
import t from 'tap'
import {
  deadLetterHeaders,
  deadLetterStream,
  deadRecordsSubject,
  resentRecordsSubject,
} from '../../../src/delivery/wire/names.js'
import { sharedDeadLetter } from '../../../src/delivery/wire/shared-dead-letters.js'
import { operatorDeadLetters } from '../../../src/outside/cli/operator-http.js'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, statusOf } from '../../harness/caller.js'
import { recordsStream } from '../../harness/first-partition.js'

const reasonOf = (text: string) => `"conn.client_ip" is "${text}"; it must be an IPv4 or IPv6 address.`

t.test('letters of one message', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account('Harbor')
  const operator = operatorDeadLetters((command) => runAdminCommand(api.parts, command))
  const origin = { [deadLetterHeaders.stream]: recordsStream, [deadLetterHeaders.sequence]: '77' }
  const park = async (texts: readonly string[]) => {
    const records = texts.map((text, index) => ({
      line: index + 1,
      bytes: Buffer.from(text),
      reason: text.startsWith('{')
        ? reasonOf(text.slice(-8, -2))
        : 'It is not JSON: no value is written "x".',
    }))
    const { data, headers } = sharedDeadLetter(records, origin)
    return (await store.admin.publish(deadRecordsSubject, data, { headers })).sequence
  }
  const record = (owner: object, name: string) => JSON.stringify({ ...owner, ip: name })
  const linesOf = async (letters: Pick<Caller['deadLetters'], 'list'>, options = {}) =>
    (await all(letters.list(options))).map(({ line }) => line)

  await park([
    'x',
    record({ account_id: me.accountId }, 'mine-1'),
    'y',
    record({ account_id: 'ac_typo' }, 'nobody'),
  ])
  await t.test('the only account sees also those that name none, or one that does not exist', async (t) => {
    t.strictSame(await linesOf(me.deadLetters), [4, 3, 2, 1])
    t.match((await me.deadLetters.groups()).groups.length, 2)
    const [, notJson] = await all(me.deadLetters.list())
    t.match(await me.deadLetters.get(notJson!.id), { text: 'y', line: 3, sequence: 77, size: 1 })
  })

  const other = await api.account('Meadow')
  t.test('as soon as there are two, an account sees its own, and the operator all', async (t) => {
    t.strictSame(await linesOf(me.deadLetters), [2])
    t.strictSame(await linesOf(other.deadLetters), [])
    t.strictSame(await linesOf(operator), [4, 3, 2, 1])
    const [nobodys, , mine] = await all(operator.list())
    t.match(nobodys, { account_id: null })
    t.match(mine, { account_id: me.accountId })
    t.match(await operator.get(nobodys!.id), { account_id: null, line: 4 })
    for (const { id } of [nobodys!, mine!]) {
      t.equal(await statusOf(other.deadLetters.get(id)), 404)
      t.equal(await statusOf(other.deadLetters.resend(id)), 404)
      t.equal(await statusOf(other.deadLetters.drop(id)), 404)
    }
    t.match(await other.deadLetters.dropAll({}), { done: 0 })
    t.strictSame(await linesOf(operator), [4, 3, 2, 1], 'nothing was dropped')
  })

  t.test('pages of any size list each letter once', async (t) => {
    await park(Array.from({ length: 9 }, (_, n) => record({ account_id: other.accountId }, `page-${n}`)))
    const lines = [9, 8, 7, 6, 5, 4, 3, 2, 1]
    for (const limit of [1, 2, 4, 9]) t.strictSame(await linesOf(other.deadLetters, { limit }), lines)
    t.strictSame(await linesOf(other.deadLetters, { reason: reasonOf('page-4') }), [5])
    t.match(await other.deadLetters.groups(), { groups: [{ count: 9, type: 'record' }] })
  })

  t.test('one is sent again, others are dropped at the same time, and the rest keep their ids', async (t) => {
    const letters = await all(other.deadLetters.list())
    const [first, second, third, ...rest] = letters.map(({ id }) => id)
    await Promise.all([
      other.deadLetters.resend(first!),
      other.deadLetters.drop(second!),
      other.deadLetters.drop(third!),
    ])
    const sent = await store.admin.lastMessage(recordsStream, resentRecordsSubject)
    t.equal(Buffer.from(sent!.data).toString(), record({ account_id: other.accountId }, 'page-8'))
    t.strictSame(
      (await all(other.deadLetters.list())).map(({ id }) => id),
      rest,
    )
    for (const id of [first, second, third]) t.equal(await statusOf(other.deadLetters.get(id!)), 404)
    for (const id of rest) t.equal(await statusOf(other.deadLetters.get(id)), 'ok')
    t.match(await other.deadLetters.groups(), { groups: [{ count: 6 }] })
    t.match(await other.deadLetters.resendAll({}), { done: 6, refused: 0 })
    t.strictSame(await linesOf(other.deadLetters), [])
  })

  t.test(
    'an operator sends again, corrects and drops letters of any account, until nothing is stored',
    async (t) => {
      const [nobodys] = await all(operator.list())
      const edited = { record_id: 'r1', type: 'tcp_connection', conn: { client_ip: '192.0.2.1' } }
      await operator.resend(nobodys!.id, { ...edited, account_id: other.accountId })
      const sent = await store.admin.lastMessage(recordsStream, resentRecordsSubject)
      t.strictSame(JSON.parse(Buffer.from(sent!.data).toString()), { ...edited, account_id: other.accountId })
      t.match(await operator.groups({ type: 'record' }), { groups: [{ count: 2 }, { count: 1 }] })
      t.match(await operator.dropAll({ type: 'record' }), { done: 3 })
      t.strictSame(await linesOf(operator), [])
      t.equal((await store.admin.streamInfo(deadLetterStream))!.state.messages, 0)
    },
  )
})
