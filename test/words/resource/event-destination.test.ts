/** Targets of destinations: one of them, its keys in the right places, and what becomes of the secret. */
import t from 'tap'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import { chosenTarget } from '../../../src/words/resource/destination-target.js'
import { eventDestination } from '../../../src/words/resource/event-destination.js'
import { targetShown } from '../../harness/targets.js'
import { links, refusalOf, tools } from './lookups.js'

const stream_arn = 'arn:aws:kinesis:eu-west-1:123456789012:stream/events'
const role = { role_arn: 'arn:aws:iam::123456789012:role/weir' }
const keyId = 'AKIAIOSFODNN7EXAMPLE'
const secret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
const creds = (aws_access_key_id: string, aws_secret_access_key?: string) => ({
  creds: { aws_access_key_id, ...(aws_secret_access_key && { aws_secret_access_key }) },
})
const kinesis = (auth: object) => ({ kinesis: { stream_arn, auth } })

t.test('keys in the wrong place', async (t) => {
  const check = compileCheck(eventDestination.fields.target.schema)
  const cases: [name: string, auth: object, refusal: RegExp | undefined][] = [
    ['a role', { role }, undefined],
    ['a pair of keys', creds(keyId, secret), undefined],
    ['keys of a service that speaks the protocol', creds('minio', 'minio123'), undefined],
    ['a secret as the id', creds(secret, secret), /swapped/],
    ['a long secret of another service', creds('aB3'.repeat(10), 'x'), /swapped/],
    ['an id as the secret', creds(keyId, keyId), /the form is that of an access key id/],
    ['a line break copied with the secret', creds(keyId, `${secret}\n`), /white space/],
    ['a space in the id', creds('AKIA IOSFODNN', secret), /letters, digits and underscores/],
    ['a user instead of a role', { role: { role_arn: 'arn:aws:iam::123456789012:user/x' } }, /role_arn/],
  ]
  for (const [name, auth, refusal] of cases) {
    const found = check(kinesis(auth), 'target')
    if (refusal === undefined) t.equal(found, undefined, name)
    else t.match(found, refusal, name)
    if (found !== undefined) t.notMatch(found, secret.slice(0, 12), `${name}: no secret is repeated`)
  }
})

t.test('exactly one target', async (t) => {
  const logs = { log_group_arn: 'arn:aws:logs:eu-west-1:123456789012:log-group:x' }
  t.match(
    refusalOf(() => chosenTarget({})),
    '"target" names no target',
  )
  t.match(
    refusalOf(() => chosenTarget({ kinesis: null })),
    '"target" names no target',
  )
  const two = { ...kinesis({ role }), cloudwatch_logs: logs } as never
  t.match(
    refusalOf(() => chosenTarget(two)),
    'names 2 targets (kinesis, cloudwatch_logs)',
  )
  t.match(chosenTarget(kinesis({ role })), { kind: 'kinesis', address: stream_arn, packing: 'none' })
})

const derive = (target: object, previous?: object) =>
  eventDestination.derive?.(
    { account_id: 'ac_1', id: 'ed_1', target } as never,
    previous as never,
    tools,
  ) as Record<string, unknown>

t.test('the secret is sealed, and kept while the key id stays', async (t) => {
  const stored = derive(kinesis(creds(keyId, secret)))
  t.match(stored, { sealed_secret: `sealed(${secret})`, secret_digest: `digest(${secret})` })
  t.strictSame(stored['target'], kinesis(creds(keyId)), 'the target is stored without it')
  const cases: [name: string, auth: object, want: object | RegExp][] = [
    ['the same secret again', creds(keyId, secret), {}],
    ['no secret, the same id', creds(keyId), {}],
    ['another secret', creds(keyId, 'other'), { sealed_secret: 'sealed(other)' }],
    ['a role instead', { role }, { sealed_secret: null, secret_digest: null }],
    ['no secret, another id', creds('AKIAOTHER'), /lacks "aws_secret_access_key"/],
    ['both', { role, ...creds(keyId) }, /exactly one of role and creds, and has 2/],
    ['neither', {}, /exactly one of role and creds, and has 0/],
  ]
  for (const [name, auth, want] of cases) {
    if (want instanceof RegExp)
      t.match(
        refusalOf(() => derive(kinesis(auth), stored)),
        want,
        name,
      )
    else {
      const { sealed_secret, secret_digest } = derive(kinesis(auth), stored)
      t.match(
        { sealed_secret, secret_digest },
        Object.keys(want).length === 0 ? { sealed_secret: undefined } : want,
        name,
      )
    }
  }
  const firehose = {
    firehose: {
      delivery_stream_arn: 'arn:aws:firehose:eu-west-1:123456789012:deliverystream/x',
      auth: { role },
    },
  }
  t.match(
    refusalOf(() => derive(firehose, stored)),
    "can't be changed",
  )
})

t.test('responses name every kind and never the secret', async (t) => {
  const { render } = eventDestination.fields.target.shown
  const auth = { role: null, creds: { aws_access_key_id: keyId, aws_secret_access_key: null } }
  t.match(
    (render as (value: unknown, of: typeof links) => unknown)(kinesis(creds(keyId)), links),
    targetShown({ kinesis: { stream_arn, auth } }),
  )
})

const url = 'https://logs.example.com/in'
const withSecrets = {
  url,
  auth: { basic: { username: 'weir', password: 'p1' } },
  secret_headers: { 'X-Key': 'k1' },
}
/** As it is shown. */
const withoutValues = {
  url,
  auth: { basic: { username: 'weir', password: null } },
  secret_headers: { 'X-Key': null },
}

t.test(
  'the secrets of a web server are sealed together, and kept while they lead to the same place',
  async (t) => {
    const stored = derive({ http: withSecrets })
    const sealed = '{"secret_headers.X-Key":"k1","auth.basic.password":"p1"}'
    t.match(stored, { sealed_secret: `sealed(${sealed})`, secret_digest: `digest(${sealed})` })
    t.strictSame(stored['target'], { http: withoutValues }, 'the target is stored without them')
    const kept = { sealed_secret: undefined }
    const cases: [name: string, http: object, want: object | RegExp][] = [
      ['the same ones again: no new seal', withSecrets, kept],
      ['all left out, as it is shown', withoutValues, kept],
      [
        'all left out, another query and another body',
        { ...withoutValues, url: `${url}?source=2`, body: 'array' },
        kept,
      ],
      [
        'all left out, the port that is the default',
        { ...withoutValues, url: url.replace('.com', '.com:443') },
        kept,
      ],
      ['all given, elsewhere', { ...withSecrets, url: 'https://other.example.com' }, kept],
      ['another one', { ...withSecrets, secret_headers: { 'X-Key': 'k2' } }, { sealed_secret: /k2/ }],
      ['removed', { url }, { sealed_secret: null, secret_digest: null }],
      [
        'left out, another host',
        { ...withoutValues, url: 'https://other.example.com/in' },
        /lacks "secret_headers.X-Key", "auth.basic.password": .*the target still leads to the same place/,
      ],
      ['left out, another path', { ...withoutValues, url: `${url}/2` }, /lacks/],
      ['left out, another port', { ...withoutValues, url: 'https://logs.example.com:8443/in' }, /lacks/],
      ['left out, without TLS', { ...withoutValues, url: 'http://logs.example.com/in' }, /lacks/],
      [
        'some left out',
        { ...withSecrets, secret_headers: { 'X-Key': null } },
        /lacks "secret_headers.X-Key": /,
      ],
      ['one of them only', { url, secret_headers: { 'X-Key': null } }, /lacks "secret_headers.X-Key"/],
      ['one more', { ...withoutValues, signing: {} }, /lacks "signing.secret"|lacks "secret_headers/],
    ]
    for (const [name, http, want] of cases) {
      if (want instanceof RegExp) {
        const refusal = refusalOf(() => derive({ http }, stored))
        t.match(refusal, want, name)
        t.notMatch(refusal, /p1|k1/, `${name}: no secret is repeated`)
      } else t.match(derive({ http }, stored), want, name)
    }
    t.match(
      refusalOf(() => derive({ http: withoutValues })),
      /lacks/,
      'there were none before',
    )
  },
)

t.test('a web server as a target', async (t) => {
  const check = compileCheck(eventDestination.fields.target.schema)
  const refusal = (http: object): string | undefined =>
    check({ http }, 'target') ?? (refusalOf(() => derive({ http })) || undefined)
  const cases: [http: object, refusal: RegExp | undefined][] = [
    [{ url }, undefined],
    [
      { url: 'http://[::1]:8080/?a=b', body: 'single', gzip: true, content_type: 'application/json' },
      undefined,
    ],
    [{ ...withSecrets, signing: { secret: `whsec_${Buffer.alloc(24).toString('base64')}` } }, undefined],
    [{ url, body: 'loki', labels: { service_name: 'weir' } }, undefined],
    [{ url: 'ftp://logs.example.com' }, /target.http.url".*: the URL of a web server is allowed, such as/],
    [{ url: 'https://logs.example.com /x' }, /the URL of a web server/],
    [{ url: 'https://u:hush@logs.example.com' }, /user and password are to be given in "auth"/],
    [{ url: `${url}#x` }, /no server is sent what follows "#"/],
    [{ url: `https://x.example/${'x'.repeat(2048)}` }, /too long/],
    [{ url, body: 'xml' }, /must be one of "ndjson", "array", "single", "elasticsearch", "splunk", "loki"/],
    [{ url, headers: { Host: 'other' } }, /has the header "Host" in "headers", which Weir does not let/],
    [{ url, headers: { 'Transfer-Encoding': 'x' } }, /Transfer-Encoding/],
    [{ url, secret_headers: { 'webhook-id': 'x' } }, /"webhook-id" in "secret_headers"/],
    [{ url, headers: { 'Content-Type': 'text/plain' } }, /give it as "content_type"/],
    [{ url, headers: { 'a b': 'x' } }, /not the name of a header/],
    [{ url, headers: { Authorization: 'x' } }, /looks like a secret: give it in "secret_headers"/],
    [{ url, headers: { A: 'x' }, secret_headers: { a: 'y' } }, /"a" in "secret_headers", but also elsewhere/],
    [{ ...withSecrets, secret_headers: { Authorization: 'hush' } }, /but also elsewhere/],
    [{ url, headers: { A: 'x\r\nB: y' } }, /printable ASCII/],
    [{ url, secret_headers: { A: 'hush\r\nB: y' } }, /control characters/],
    [{ url, secret_headers: { A: ' hush' } }, /without white space at its ends/],
    [{ url, secret_headers: { A: 7_777 } }, /must be a string/],
    [{ url, headers: Object.fromEntries([...Array(33).keys()].map((n) => [`A${n}`, 'x'])) }, /at most 32/],
    [{ url, auth: {} }, /exactly one of bearer and basic in "auth", and has 0/],
    [{ url, auth: { bearer: { token: 'a' }, basic: { username: 'u', password: 'p' } } }, /and has 2/],
    [{ url, auth: { bearer: { token: 'hush hush' } } }, /white space is not allowed/],
    [{ url, auth: { basic: { username: 'a:b', password: 'p' } } }, /colon/],
    [{ url, signing: { secret: 'hush' } }, /"whsec_" and 24 to 64 bytes in base64/],
    [{ url, labels: { a: 'b' } }, /has "labels", which only the body loki has/],
    [{ url, body: 'loki', labels: { 'a-b': 'b' } }, /has the label "a-b"/],
    [{ url, colour: 'red' }, /has no field "colour"/],
  ]
  for (const [http, want] of cases) {
    const found = refusal(http)
    const name = JSON.stringify(http).slice(0, 100)
    if (want === undefined) t.equal(found, undefined, name)
    else t.match(found, want, name)
    t.notMatch(found ?? '', /hush|7_?777/, `${name}: no secret is repeated`)
  }
})
