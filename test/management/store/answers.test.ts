/** Which requests count as repeats of one another, and what is kept of an answer. */
import t from 'tap'
import { requestKey, storedAnswer } from '../../../src/management/store/change/answers.js'

t.test('repeats of a request', async (t) => {
  const first = requestKey('ac_1', 'key', 'POST /ip_policies {}')
  interface Case {
    readonly name: string
    readonly of: readonly [accountId: string, key: string, request: string]
    readonly sameKey: boolean
    readonly sameRequest: boolean
  }
  const cases: readonly Case[] = [
    {
      name: 'the same request',
      of: ['ac_1', 'key', 'POST /ip_policies {}'],
      sameKey: true,
      sameRequest: true,
    },
    {
      name: 'another body',
      of: ['ac_1', 'key', 'POST /ip_policies {"a":1}'],
      sameKey: true,
      sameRequest: false,
    },
    { name: 'another key', of: ['ac_1', 'yek', 'POST /ip_policies {}'], sameKey: false, sameRequest: true },
    {
      name: 'another account',
      of: ['ac_2', 'key', 'POST /ip_policies {}'],
      sameKey: false,
      sameRequest: true,
    },
    {
      name: 'account and key that read the same when they are joined',
      of: ['ac_1k', 'ey', 'POST /ip_policies {}'],
      sameKey: false,
      sameRequest: true,
    },
  ]
  for (const { name, of, sameKey, sameRequest } of cases) {
    const { key, request } = requestKey(...of)
    t.strictSame([key === first.key, request === first.request], [sameKey, sameRequest], name)
  }
  const odd = requestKey('ac_1', 'a key: with * and > and 中', '').key
  t.match(odd, /^[A-Za-z0-9_-]+$/, 'any text becomes a valid key of the bucket')
})

t.test('what is shown once is not kept', async (t) => {
  const key = requestKey('ac_1', 'key', 'POST /api_keys {}')
  const answer = { status: 201, location: '/api_keys/ak_1', body: { id: 'ak_1', token: null } } as const
  t.strictSame(storedAnswer(key, { ...answer, once: { token: 'weir_secret' } }), { ...key, answer })
})
