/** The readings of a path: which spellings have several, and that none of what a server makes of them is missing. */
import fc from 'fast-check'
import t from 'tap'
import { readingsOf, readingsOfPath, rfcPath } from '../../../../src/ground/core/text/target-readings.js'

const pathsOf = (path: string): string[] => readingsOf(path).all.map(({ path }) => path)

t.test('what all servers read alike has one reading', (t) => {
  const alike = [
    '/',
    '/a',
    '/a/b/',
    '/a.b/c-d_e~f',
    '/b%C3%BCcher',
    '/a%20b',
    '/~%7Ea',
    "/a:b@c,d=e+f!$&'()*",
    '/100%25',
    '/🦋',
    '*',
  ]
  for (const path of alike) t.equal(readingsOfPath(path), undefined, path)
  t.strictSame(readingsOf('/b%C3%BCcher%20').all.length, 2, 'a space at the end is one that Windows cuts')
  t.end()
})

const cases: readonly { path: string; reads: readonly string[]; why: string }[] = [
  {
    path: '/admin/\\..\\..\\public',
    reads: ['/admin/\\..\\..\\public', '/public'],
    why: 'a backslash is itself, or a slash',
  },
  { path: '/private/%5c..%5c..%5cx', reads: ['/private/\\..\\..\\x', '/x'], why: 'so is an encoded one' },
  { path: '/private/.', reads: ['/private/.', '/private/'], why: 'the slash before a dot segment stays' },
  {
    path: '/private/x/%2e%2e',
    reads: ['/private/', '/private/x/..', '/private/x/%2e%2e'],
    why: 'encoded dots',
  },
  {
    path: '/private%2fx/..%2f',
    reads: ['/private/', '/private/x/../', '/private%2fx/..%2f'],
    why: 'an encoded slash is data, a slash, or one that was there before',
  },
  {
    path: '/admin/x%2f..%2f..%2fpublic',
    reads: ['/public', '/admin/x/../../public'],
    why: 'dots behind encoded slashes',
  },
  {
    path: '/a//../private',
    reads: ['/a/private', '/private'],
    why: 'slashes are merged before dots are removed, or not',
  },
  { path: '/a;x=1/../private;y', reads: ['/private', '/private;y'], why: 'parameters are cut, or not' },
  { path: '/a/..;/private', reads: ['/private'], why: 'Tomcat cuts them before it removes dots' },
  { path: '/a/..%3b/private', reads: ['/private'], why: 'a proxy in front decoded' },
  { path: '/%252e%252e%252fprivate', reads: ['/private', '/%2e%2e%2fprivate'], why: 'decoded twice' },
  { path: '/%c0%afprivate', reads: ['/private'], why: 'overlong UTF-8' },
  {
    path: '/pri%ffvate',
    reads: ['/private', '/pri\ufffdvate', '/priÿvate'],
    why: 'bytes that are not UTF-8 are replaced, dropped, or Latin-1',
  },
  { path: '/%u002fprivate', reads: ['/private'], why: 'as IIS decodes' },
  { path: '/pri%vate', reads: ['/private', '/pri%vate'], why: 'a percent sign without digits' },
  { path: '/x.php%00.png', reads: ['/x.php', '/x.php.png'], why: 'a text ends at its NUL' },
  { path: '/x.php%0a', reads: ['/x.php', '/x.php\n'], why: 'a pattern takes a line feed for the end' },
  { path: '/private/#/x', reads: ['/private/', '/private/#/x'], why: 'a fragment' },
  { path: '/private%3f/x', reads: ['/private', '/private?/x'], why: 'an encoded question mark' },
  { path: '//x/private', reads: ['/private', '/x/private', '//x/private'], why: 'a URL without a scheme' },
  { path: '/\\x/private', reads: ['/private'], why: 'the same with a backslash' },
  { path: 'http:/private', reads: ['/private'], why: 'a URL without a host' },
  { path: 'private', reads: ['/private'], why: 'no slash' },
  { path: '/private./x%20', reads: ['/private/x'], why: 'Windows cuts dots and spaces' },
  { path: '/%70rivate', reads: ['/private', '/%70rivate'], why: 'a letter that need not be encoded' },
  { path: '/%2fx/private', reads: ['/private'], why: 'a proxy decoded two slashes' },
  { path: '/secret/%2e', reads: ['/secret', '/secret/', '/secret/.'], why: 'a name of a file' },
  { path: '/./a/../b', reads: ['/a/../b', '/b'], why: 'only dots that are alone' },
  {
    path: '/public/../private/%2e%2e/x',
    reads: ['/private/%2e%2e/x', '/x'],
    why: 'only dots that are not encoded',
  },
  {
    path: '/x/../admin/..',
    reads: ['/x/../admin/..', '/', '/admin/'],
    why: 'Caddy cuts dots at the end before it removes dot segments',
  },
  { path: '/pu%2562lic/../admin/..', reads: ['/admin/'], why: 'the same behind what may be decoded twice' },
  { path: '/secret/.%20', reads: ['/secret', '/secret/.'], why: 'a space at the end of a line gets lost' },
  {
    path: '/zz/%2e%2e/private/./../public/x',
    reads: ['/private/public/x', '/public/x'],
    why: 'HAProxy removes ".." with the "." before it',
  },
  { path: '/secret;/x', reads: ['/secret', '/secret/x'], why: 'Fastify takes what follows for the query' },
  { path: '*secret', reads: ['/secret'], why: 'a router skips the first sign' },
  { path: 'http:http:////h/admin/x', reads: ['/admin/x'], why: 'Caddy and Node each take a scheme away' },
]

t.test('readings of a path', (t) => {
  for (const { path, reads, why } of cases) {
    const found = pathsOf(path)
    for (const each of reads) t.ok(found.includes(each), `${why}: ${path} is read as ${each}`)
  }
  t.end()
})

const piece = fc.constantFrom(
  ...[
    '/',
    '//',
    'a',
    'private',
    '%2f',
    '%2e',
    '.',
    '..',
    '\\',
    '%5c',
    ';x',
    '%3b',
    '%252f',
    '%',
    '%00',
    '%c0%af',
    '%ff',
  ],
  ...['#', '%3f', '%0a', '%70', '%20', 'ü', '%u002f', '?'],
)
const hostile = fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`)

t.test('hostile paths', (t) => {
  fc.assert(
    fc.property(hostile, (path) => {
      const { all, tooMany } = readingsOf(path)
      t.ok(all.length <= 64)
      t.equal(new Set(all.map(({ path }) => path)).size, all.length, 'each reading once')
      if (!tooMany)
        t.ok(
          all.some((each) => each.path === rfcPath(path)),
          'RFC 3986 is among them',
        )
    }),
  )
  t.end()
})

t.test('the signs that servers read differently', (t) => {
  const isOdd = (sign: string): boolean => sign < ' ' || '\\;#?%\x7f'.includes(sign)
  for (let code = 0; code < 128; code += 1) {
    const sign = String.fromCharCode(code)
    t.equal(readingsOfPath(`/a${sign}b`) !== undefined, isOdd(sign), `${code} within a segment`)
    t.equal(
      readingsOfPath(`/a${sign}`) !== undefined,
      isOdd(sign) || '. '.includes(sign),
      `${code} at the end`,
    )
    t.equal(
      readingsOfPath(`/a${sign}/b`) !== undefined,
      isOdd(sign) || '. /'.includes(sign),
      `${code} before a slash`,
    )
  }
  t.end()
})

t.test('long paths have fewer readings, and the work is bounded', (t) => {
  const long = readingsOf(`/${'a/../b//%2f;'.repeat(5000)}`)
  t.strictSame([long.all.length, long.tooMany], [1, true])
  t.ok(readingsOf(`/${'a.'.repeat(30_000)}b..`).all.length > 0)
  t.end()
})
