/**
 * Every answer over a store that has each resource in its emptiest and its fullest form: what was stored once is no reason
 * for an internal error.
 */
import t from 'tap'
import { openTestStore } from '../harness/api.js'
import { Estate, servedResources } from './estate.js'
import { filled, operationsOn, otherOperations, unknownId } from './operations.js'

/** An operator grants the right to make them. */
const notOfAnAccount = ['abuse_report']

t.test('no request to read fails because of what is stored', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const full = new Estate(me, 'full-forms')
  const ids = new Map<string, string[]>()
  const made: string[] = []
  for (const { kind, path } of servedResources) {
    const known = notOfAnAccount.includes(kind) ? unknownId(kind) : await full.id(kind)
    const empty = await me.raw.send('POST', path, { body: '{}' })
    if (empty.status === 201) made.push(kind)
    ids.set(kind, empty.status === 201 ? [known, empty.body.id] : [known])
  }
  t.ok(made.includes('tcp_edge'), `${made.length} kinds have a form without any member`)

  const paths = new Set<string>()
  for (const { method, path } of otherOperations(api)) if (method === 'get') paths.add(path)
  for (const { path } of servedResources) paths.add(path)
  for (const { method, path } of operationsOn(api))
    if (method === 'get' && !path.endsWith('/live'))
      for (const which of [0, 1])
        paths.add(
          await filled(path, (kind) => ids.get(kind)?.[which] ?? ids.get(kind)?.[0] ?? unknownId(kind)),
        )
  for (const path of paths) {
    const { status, body } = await me.raw.send('GET', path)
    const isFailure = status >= 500 && status !== 503
    t.notOk(isFailure, `${path}: ${status} ${isFailure ? JSON.stringify(body) : ''}`)
  }
})
