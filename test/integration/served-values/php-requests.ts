/**
 * Requests whose names are spelled as PHP may read them for others, the same ones for the same seed. Characters are bytes.
 */
import { numbersFrom } from '../served-targets/targets.js'

const names = ['role', 'role', 'user_id', 'user_id', 'ids', '_method', 'a']
/** In front of a name, within it, and behind it. */
const before = ['', '', '', '', ' ', '+', '%20', '%09', '%00', '.', '[', '%5b', '__Host-']
const within = ['.', ' ', '+', '%20', '%2e', '[', '%5b', '_', '-', ']', '%00', '%5f']
const after = [
  ...['', '', '', '', '[]', '[0]', '[a][b]', '[', ']', '%5b%5d', '%5B0%5D', '[ ]', '[a', '[[]', '[]]'],
  ...['[][admin]', '%00', '%00x', '.', ' ', '+', '[]x', '[a]=b', '[__proto__]'],
]
const values = ['admin', 'admin', 'admin', 'user', '', 'adm%69n', '+admin', 'admin%00', '"admin"', 'a=admin']
const joins = ['&', '&', '&', ';', '&&', '#', '&;', '?', ',']
const cookieJoins = ['; ', '; ', ';', ' ;', ',', ';;', '&', ';\t']
const headers = [
  ...['X-Role', 'x_role', 'X.Role', 'X~Role', 'X-Role.', 'HTTP-X-Role', 'X-Role[]', "X'Role"],
  ...['X-HTTP-Method-Override', 'X_HTTP_METHOD_OVERRIDE', 'X.HTTP.Method.Override'],
]
const headerValues = ['admin', 'admin', 'user', 'admin, user', 'DELETE', 'delete', '']

export function* requestsForPhp(seed: number, count: number, port: number): Generator<string> {
  const below = numbersFrom(seed)
  const one = (list: readonly string[]): string => list[below(list.length)]!
  const some = (most: number, make: () => string): string[] => Array.from({ length: below(most + 1) }, make)
  const spelled = (): string => {
    const name = one(names)
    const place = name.includes('_') && below(2) === 0 ? name.indexOf('_') : -1
    const inner = place === -1 ? name : name.slice(0, place) + one(within) + name.slice(place + 1)
    const encoded = below(6) === 0 ? `%${inner.charCodeAt(0).toString(16)}${inner.slice(1)}` : inner
    return one(before) + encoded + one(after)
  }
  const pair = (): string => (below(12) === 0 ? spelled() : `${spelled()}=${one(values)}`)
  for (let made = 0; made < count; made += 1) {
    const query = some(4, () => pair().replaceAll(' ', '%20') + one(joins)).join('')
    const lines = [
      `Host: public.example:${port}`,
      ...some(2, () => `Cookie: ${some(4, () => pair() + one(cookieJoins)).join('')}`),
      ...some(2, () => `${one(headers)}: ${one(headerValues)}`),
      'Content-Length: 0',
      'Connection: close',
    ]
    const method = one(['GET', 'GET', 'POST', 'DELETE'])
    yield `${method} /p${query === '' ? '' : `?${query}`} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
  }
}
