import fc from 'fast-check'
import t from 'tap'
import { namesPath, readingsOfUri, splitUri } from '../../../../src/ground/core/text/request-target.js'

const cases = [
  { name: 'a path and a query', uri: '/a/b?c=%20#d', want: { path: '/a/b', query: 'c=%20' } },
  { name: 'empty and dot segments', uri: '//a/./b/../%2e%2e//', want: { path: '///', query: null } },
  {
    name: 'the slash before a final dot segment',
    uri: '/private/.',
    want: { path: '/private/', query: null },
  },
  { name: 'a final parent', uri: '/private/x/%2E.', want: { path: '/private/', query: null } },
  { name: 'more parents than there are', uri: '/../../a', want: { path: '/a', query: null } },
  { name: 'letters of more bytes', uri: '/b%c3%bccher/', want: { path: '/bücher/', query: null } },
  { name: 'bytes that are not UTF-8', uri: '/%ff/../admin', want: { path: '/admin', query: null } },
  { name: 'such bytes that stay', uri: '/a%C3%/b', want: { path: '/a\ufffd%/b', query: null } },
  { name: 'no digits', uri: '/%zz%4/%', want: { path: '/%zz%4/%', query: null } },
  { name: 'a whole URL', uri: 'HTTPS://user@www.example:8443/a/../b?c', want: { path: '/b', query: 'c' } },
  { name: 'a URL without a path', uri: 'https://www.example?c', want: { path: '/', query: 'c' } },
  { name: 'a URL in a path', uri: '/https://x/../admin', want: { path: '/https://admin', query: null } },
  { name: 'decoded once', uri: '/%2561', want: { path: '/%61', query: null } },
  { name: 'an encoded slash is data', uri: '/a%2fb/..%2F', want: { path: '/a%2fb/..%2F', query: null } },
  {
    name: 'a backslash is data',
    uri: '/admin/\\..\\..\\x%5c',
    want: { path: '/admin/\\..\\..\\x\\', query: null },
  },
  { name: 'nothing', uri: '', want: { path: '/', query: null } },
]

t.test('path and query of a URI', (t) => {
  for (const { name, uri, want } of cases) t.strictSame(splitUri(uri), want, name)
  t.end()
})

t.test('what can be decoded is decoded as encoded', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }).filter((text) => !/[/.]/.test(text)),
      (text) => {
        t.equal(splitUri(`/${encodeURIComponent(text)}`).path, `/${text}`)
      },
    ),
  )
  t.end()
})

t.test('the host of a URL ends where any parser ends it', (t) => {
  const paths = readingsOfUri('http://www.example\\x/private').all.map(({ path }) => path)
  t.ok(paths.includes('/private') && paths.includes('/x/private'))
  const urls = [
    ...['http:///h/private', 'http://h%2fprivate', 'http://h:80%5cprivate?x', 'http://a@h;private'],
    ...['HTTP://a%2fb@h%2fprivate', "http://h'/../private", 'http://h\\private'],
  ]
  for (const url of urls)
    t.ok(
      readingsOfUri(url).all.some(({ path }) => path === '/private'),
      url,
    )
  t.strictSame(readingsOfUri('http://a:b@www.example:80/x').all, [{ path: '/x', how: 'as sent' }])
  t.end()
})

t.test('a URI that names a path and nothing else is seen at once', (t) => {
  for (const uri of ['/a/b', '/a/b?c', '/a/b?//..%2f']) t.ok(namesPath(uri, '/a/b'), uri)
  for (const uri of ['/a/bc', '/a/b#', '/a', 'https://x/a/b', '/a/b/']) t.notOk(namesPath(uri, '/a/b'), uri)
  for (const path of ['/a//b', '/a;b', '/a/..', '/a%2fb', '/a\\b']) t.notOk(namesPath(path, path), path)
  t.end()
})
