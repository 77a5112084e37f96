/** Rights and ends of API keys. */
import t from 'tap'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import {
  apiKey,
  includesRight,
  isExpired,
  type KeyRight,
  rightsOf,
} from '../../../src/words/resource/api-key.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { lookupsIn, refusalOf } from './lookups.js'

t.test('rights that are given', async (t) => {
  const check = compileCheck(apiKey.fields.rights.schema)
  const cases: [given: unknown, refusal: RegExp | undefined][] = [
    [['read'], undefined],
    [['read', 'decide'], undefined],
    [['all'], undefined],
    [[], /at least 1/],
    [['read', 'read'], /a right is given twice/],
    [['weir_secret'], /must be one of/],
  ]
  for (const [given, refusal] of cases) {
    const found = check(given, 'rights')
    if (refusal === undefined) t.equal(found, undefined, JSON.stringify(given))
    else t.match(found, refusal, JSON.stringify(given))
  }
  t.strictSame(
    apiKey.fields.rights.complete(['read', 'all']),
    null,
    'a key with all rights is one without limits',
  )
})

t.test('rights that a key has', async (t) => {
  const all: KeyRight[] = ['read', 'write', 'decide', 'publish', 'all']
  const cases: [rights: KeyRight[] | null | undefined, included: KeyRight[]][] = [
    [null, all],
    [undefined, all],
    [[], all],
    [['read'], ['read']],
    [['write'], ['read', 'write']],
    [['decide'], ['decide']],
    [['publish'], ['publish']],
    [
      ['read', 'decide'],
      ['read', 'decide'],
    ],
  ]
  for (const [rights, included] of cases) {
    const found = all.filter((right) => includesRight(rightsOf({ rights } as unknown as Row), right))
    t.strictSame(found, included, JSON.stringify(rights))
  }
})

t.test('the end of a key', async (t) => {
  const created_at = Date.parse('2026-11-20T10:00:00Z')
  const cases: [expires_at: string | null, isAllowed: boolean][] = [
    [null, true],
    ['2026-11-20T10:00:01Z', true],
    ['2036-11-17T10:00:00Z', true],
    ['2026-11-20T10:00:00Z', false],
    ['2026-11-19T10:00:00Z', false],
    ['2036-11-17T10:00:01Z', false],
  ]
  for (const [expires_at, isAllowed] of cases) {
    const row = { created_at, expires_at } as never
    t.equal(
      refusalOf(() => apiKey.check?.(row, undefined, lookupsIn())) === undefined,
      isAllowed,
      `${expires_at}`,
    )
    t.equal(
      refusalOf(() => apiKey.check?.(row, row, lookupsIn())),
      undefined,
      'an update keeps it',
    )
  }
  const key = { expires_at: '2026-11-20T10:00:00Z' } as unknown as Row
  t.strictSame(
    [created_at - 1, created_at].map((nowMs) => isExpired(key, nowMs)),
    [false, true],
  )
  t.notOk(isExpired({} as Row, created_at), 'a key of an earlier version has no end')
})
