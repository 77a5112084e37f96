/** Requests that repeat what a policy asks about, the same ones for the same seed. Characters are bytes. */
import { numbersFrom } from '../served-targets/targets.js'

const roles = [
  'user',
  'admin',
  'admin',
  '',
  'user, admin',
  'user,admin',
  'admin,user',
  ' admin \t',
  'guest',
  'user,\r\n admin',
]
const roleNames = ['X-Role', 'X-Role', 'x-role', 'X-ROLE', 'X_Role', 'X.Role', 'X-Roles', 'X-Role ']
const cookies = [
  'role=user',
  'role=admin',
  'a=1',
  'role="admin"',
  'role="\\141dmin"',
  ' role = admin',
  'Role=admin',
  'role=%61dmin',
  '$Version=1',
  'role[]=admin',
  '',
]
const cookieJoins = ['; ', ';', ', ', ' ;  ']
const parameters = [
  'role=user',
  'role=admin',
  'a=1',
  'ROLE=admin',
  'role[]=admin',
  'role[0]=user',
  '%72ole=admin',
  'role=%61dmin',
  'role',
  '',
  'role=adm%69n',
  '+role=admin',
]
const parameterJoins = ['&', '&', '&', ';', '&&', '#']
const methods = ['GET', 'GET', 'POST', 'DELETE', 'delete', 'Delete']
const overrides = [
  'X-HTTP-Method-Override: DELETE',
  'X-HTTP-Method: delete',
  'x-method-override: PUT, DELETE',
  'X_HTTP_METHOD_OVERRIDE: DELETE',
  'X-HTTP-Method-Override: PUT',
]
const hosts = [
  'public.example',
  'public.example',
  'private.example',
  'PRIVATE.example',
  'private.example.',
  'public.example,private.example',
  'public.example@private.example',
  'private.example:1',
  'private.example:',
  'private.example..',
  'private.example:1:2',
  'private.example:000080',
  'a@private.example',
  '[private.example]',
]
const others = [
  'X-Forwarded-Host: private.example',
  'X-Forwarded-Method: GET',
  'X-Original-URL: /?role=user',
  'X-Rewrite-URL: /',
  'Accept: a, b',
  'Connection: X-Role',
  'X-Forwarded-Uri: /?role=user',
]

export function* hostileRequests(seed: number, count: number, port: number): Generator<string> {
  const below = numbersFrom(seed)
  const one = (list: readonly string[]): string => list[below(list.length)]!
  const some = (most: number, make: () => string): string[] => Array.from({ length: below(most + 1) }, make)
  const host = (): string => `Host: ${one(hosts)}${below(3) === 0 ? '' : `:${port}`}`
  for (let made = 0; made < count; made += 1) {
    const query = some(3, () => one(parameters) + one(parameterJoins)).join('')
    const method = below(6) === 0 ? `&_method=${one(methods)}` : ''
    const target = `${below(12) === 0 ? `http://${one(hosts)}` : ''}/p${query + method === '' ? '' : `?${query}${method}`}`
    const lines = [
      ...(below(12) === 0 ? [host(), host()] : [host()]),
      ...some(3, () => `${one(roleNames)}: ${one(roles)}`),
      ...some(2, () => `Cookie: ${some(3, () => one(cookies)).join(one(cookieJoins))}`),
      ...(below(4) === 0 ? [one(overrides)] : []),
      ...(below(6) === 0 ? [one(others)] : []),
      'Content-Length: 0',
      'Connection: close',
    ]
    yield `${one(methods)} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
  }
}
