import fc from 'fast-check'
import t from 'tap'
import {
  badRequest,
  conflict,
  errorCodes,
  fail,
  messageOf,
  notFound,
  ok,
  problem,
  shown,
  statusOf,
  unavailable,
  valueAt,
  WeirError,
  wrong,
} from '../../../src/ground/core/errors.js'

const made = [
  {
    name: 'a bad request',
    error: badRequest('Bad.', { field: 'cidr' }),
    code: 'ERR_INVALID_REQUEST',
    status: 400,
  },
  { name: 'a conflict', error: conflict('Taken.'), code: 'ERR_CONFLICT', status: 400 },
  { name: 'an unknown id', error: notFound('Gone.'), code: 'ERR_NOT_FOUND', status: 404 },
  { name: 'a store that is away', error: unavailable('Away.'), code: 'ERR_UNAVAILABLE', status: 503 },
]

t.test('errors carry the code and status of the table', (t) => {
  for (const { name, error, code, status } of made) {
    t.ok(error instanceof WeirError, name)
    t.match({ code: error.code, status: error.status }, { code, status }, name)
  }
  t.strictSame(badRequest('Bad.', { field: 'cidr' }).details, { field: 'cidr' })
  t.strictSame(notFound('Gone.').details, {}, 'no details are no details')
  t.ok((unavailable('Away.').retryAfterSeconds ?? 0) > 0, 'what is away says when to come back')
  t.equal(unavailable('Away.', 'why').cause, 'why')
  t.end()
})

t.test('every code has a status that says whose fault it is', (t) => {
  for (const code of errorCodes) {
    t.match(code, /^ERR_[A-Z_]+$/)
    t.ok(statusOf(code) >= 400 && statusOf(code) < 600, code)
  }
  t.end()
})

t.test('results', (t) => {
  t.strictSame(ok(1), { ok: true, value: 1 })
  t.strictSame(fail('why'), { ok: false, problem: 'why' })
  t.strictSame(problem('Why.'), { ok: false, problem: { msg: 'Why.' } })
  t.end()
})

const texts = [
  { name: 'a URL with a password', value: 'nats://me:pass/word@host:1 a@b', want: '"nats://…@host:1 a@b"' },
  { name: 'text', value: 'a"b', want: '"a\\"b"' },
  { name: 'an absent value', value: undefined, want: 'undefined' },
  { name: 'a large integer', value: 2n ** 64n, want: '18446744073709551616' },
  { name: 'what JSON leaves out', value: () => 1, want: '() => 1' },
  {
    name: 'a private key in any field',
    value: { note: '-----BEGIN EC PRIVATE KEY-----\nMHcC' },
    want: '{"note":"…"}',
  },
  { name: 'a private key alone', value: '-----BEGIN PRIVATE KEY-----\nMIIE', want: '"…"' },
  {
    name: "a token of Weir's",
    value: `Bearer weir_${'aB3-_'.repeat(8)}abc`,
    want: '"Bearer …"',
  },
  {
    name: 'a secret access key of AWS',
    value: ['wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', 'key=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY,'],
    want: '["…","key=…,"]',
  },
  {
    name: 'a token that is cut',
    value: `${'x'.repeat(70)} weir_${'a'.repeat(43)}`,
    want: `"${'x'.repeat(70)} …"`,
  },
  {
    name: 'a hex digest',
    value: 'da39a3ee5e6b4b0d3255bfef95601890afd80709',
    want: '"da39a3ee5e6b4b0d3255bfef95601890afd80709"',
  },
  {
    name: 'a name that says it',
    value: { clientSecret: 1, aws_secret_access_key: [2], token: { of: 3 }, password: 4, key_id: 5 },
    want:
      '{"clientSecret":"…","aws_secret_access_key":"…","token":"…","password":"…","key_id":5}'.slice(0, 80) +
      '…',
  },
  { name: 'something long is cut', value: 'x'.repeat(100), want: `"${'x'.repeat(79)}…` },
]

t.test('values in messages', (t) => {
  for (const { name, value, want } of texts) t.equal(shown(value), want, name)
  t.equal(valueAt('hostports[0]', 'a:99999'), '"hostports[0]" is "a:99999"')
  t.equal(valueAt('labels', ['x']), '"labels" is a list')
  t.equal(valueAt('target', { note: 'x' }), '"target" is an object')
  for (const path of ['a.private_key_pem', 'token', 'creds.aws_secret_access_key[0].x', 'apiKey'])
    t.equal(valueAt(path, 'never-shown'), `"${path}" has a value that is not shown here`)
  for (const path of [
    'target',
    'target.kinesis.auth',
    'auth.creds',
    'rights[0]',
    'http.request.headers.cookie',
  ]) {
    t.equal(valueAt(path, 'never-shown'), `"${path}" has a value that is not shown here`)
    t.equal(wrong(path, 'never-shown', 'x'), `"${path}" has a value that is not shown here; it must be x.`)
    t.equal(wrong(path, ['never-shown'], 'x'), `"${path}" is a list; it must be x.`)
    t.equal(valueAt(path, 'arn:aws:x'), `"${path}" is "arn:aws:x"`)
    t.equal(valueAt(path, 5), `"${path}" is 5`)
  }
  t.equal(
    wrong('token', { of: 'never-shown' }, 'x'),
    '"token" has a value that is not shown here; it must be x.',
  )
  t.equal(messageOf(new Error('why')), 'why')
  t.equal(messageOf('why'), 'why')
  t.end()
})

t.test('values in messages are the beginning of their JSON', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 120 }), (value, charsMax) => {
      const json = JSON.stringify(value)
      return shown(value, charsMax) === (json.length <= charsMax ? json : `${json.slice(0, charsMax)}…`)
    }),
    { seed: 5, numRuns: 2_000 },
  )
  t.end()
})

t.test('values in messages may be nested as deeply as they like', (t) => {
  for (const depth of [100, 3_000, 30_000, 1_000_000]) {
    t.equal(shown(JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)), `${'['.repeat(80)}…`)
  }
  t.end()
})
