import fc from 'fast-check'
import t from 'tap'
import { splitUri } from '../../../src/core/text/request-target.js'

const cases = [
  { name: 'a path and a query', uri: '/a/b?c=%20#d', want: { path: '/a/b', query: 'c=%20' } },
  { name: 'empty and dot segments', uri: '//a/./b/../%2e%2e//', want: { path: '/', query: null } },
  { name: 'letters of more bytes', uri: '/b%c3%bccher/', want: { path: '/bücher/', query: null } },
  { name: 'bytes that are not UTF-8', uri: '/%ff/../admin', want: { path: '/admin', query: null } },
  { name: 'such bytes that stay', uri: '/a%C3%/b', want: { path: '/a\ufffd%/b', query: null } },
  { name: 'no digits', uri: '/%zz%4/%', want: { path: '/%zz%4/%', query: null } },
  { name: 'a whole URL', uri: 'HTTPS://user@www.example:8443/a/../b?c', want: { path: '/b', query: 'c' } },
  { name: 'a URL without a path', uri: 'https://www.example?c', want: { path: '/', query: 'c' } },
  { name: 'a URL in a path', uri: '/https://x/../admin', want: { path: '/https:/admin', query: null } },
  { name: 'decoded once', uri: '/%2561', want: { path: '/%61', query: null } },
]

t.test('path and query of a URI', (t) => {
  for (const { name, uri, want } of cases) t.strictSame(splitUri(uri), want, name)
  t.end()
})

t.test('what can be decoded is decoded as encoded', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }).filter((text) => !/[/\\.]/.test(text)),
      (text) => {
        t.equal(splitUri(`/${encodeURIComponent(text)}`).path, `/${text}`)
      },
    ),
  )
  t.end()
})
