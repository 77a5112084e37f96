/** The parts that explanations show of values that may be secrets. */
import fc from 'fast-check'
import t from 'tap'
import { isSecret, withoutSecrets } from '../../../src/delivery/record/secret-values.js'

const header = (name: string): string => `http.request.headers['${name}']`

t.test('what is shown', async (t) => {
  const cases: [name: string, value: unknown, want: unknown][] = [
    [header('authorization'), 'Bearer abcdefgh', 'Bearer … (8 characters)'],
    [header('authorization'), 'abcdefgh', '… (8 characters)'],
    [header('x-api-key'), 'abc', '… (3 characters)'],
    [header('cookie'), 'a=b', '… (3 characters)'],
    [header('user-agent'), 'sqlmap/1.7', 'sqlmap/1.7'],
    [header('referer'), 'https://a/?x=1&access_token=abc#b', 'https://a/?x=1&access_token=…#b'],
    ["http.request.cookies['theme']", 'dark', 'dark'],
    ["http.request.cookies['theme']", 'abcdefghijkl', '… (12 characters)'],
    ["http.request.cookies['PHPSESSID']", 'abc', '… (3 characters)'],
    ["http.request.url.parameters['page']", '7', '7'],
    ["http.request.url.parameters['token']", '7', '… (1 characters)'],
    ['http.request.url.query', 'page=7&%74oken=abc&key=&keyboard=de', 'page=7&%74oken=…&key=&keyboard=de'],
    ['http.request.url.raw', '/a?password=x', '/a?password=…'],
    ['conn.client_port', 7, 7],
    ['conn.asn', undefined, undefined],
    [header('authorization'), '', ''],
  ]
  for (const [name, value, want] of cases) t.equal(withoutSecrets(name, value), want, `${name} ${value}`)
})

t.test('nothing of a secret is left', async () => {
  const names = fc.constantFrom(header('authorization'), "http.request.cookies['a']", header('x-auth-token'))
  const secret = fc.string({ minLength: 20, maxLength: 40, unit: fc.constantFrom(...'qzxwvk') })
  fc.assert(
    fc.property(
      names,
      secret,
      (name, value) =>
        isSecret(name, value) && !String(withoutSecrets(name, `Bearer ${value}`)).includes(value.slice(0, 3)),
    ),
  )
  fc.assert(
    fc.property(
      secret,
      (value) => !String(withoutSecrets('http.request.url.query', `a=b&token=${value}`)).includes(value),
    ),
  )
})
