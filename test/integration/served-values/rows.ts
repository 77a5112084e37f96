/**
 * The table of `docs/policies.md`: what Weir is asked, and what the application gets, of a request that could be read in two
 * ways.
 */
import type { RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import type { Seen, Served } from './open.js'

interface Row {
  /** As the table has it. */
  readonly what: string
  readonly request: (port: number) => string
  readonly asked: (record: RequestRecord) => readonly string[]
  readonly served: (served: Served) => readonly string[]
}

/** Lines between the first two and the last one. */
const withLines =
  (lines: readonly string[], { line = 'GET /p', host = 'public.example' } = {}) =>
  (port: number): string => {
    const named = host === '' ? [] : [`Host: ${/[,:]/.test(host) ? host : `${host}:${port}`}`]
    return [`${line} HTTP/1.1`, ...named, ...lines, 'Connection: close', '', ''].join('\r\n')
  }

function headerRow(what: string, name: string, ...lines: string[]): Row {
  const like = (spelled: string): boolean => spelled.toLowerCase().replace(/[_.]/g, '-') === name
  return {
    what,
    request: withLines(lines),
    asked: ({ http }) =>
      Object.entries(http?.request?.headers ?? {})
        .filter(([spelled]) => like(spelled))
        .flatMap(([, values]) => values),
    served: ({ headers }) => headers.filter((header) => like(header.name)).map(({ value }) => value),
  }
}

const hostRow = (what: string, request: Row['request']): Row => ({
  what,
  request,
  asked: ({ conn }) => [conn.server_name ?? ''],
  served: ({ headers }) =>
    headers
      .filter(({ name }) => /^(?:x-forwarded-)?host$/i.test(name))
      .map(({ value }) => value.replace(/:\d+$/, '')),
})

const targetRow = (what: string, line: string): Row => ({
  what,
  request: withLines([], { line }),
  asked: ({ http }) => [http?.request?.url?.raw ?? ''],
  served: ({ target }) => [target],
})

const methodRow = (what: string, line: string): Row => ({
  what,
  request: withLines(['Content-Length: 0'], { line }),
  asked: ({ http }) => [http?.request?.method ?? ''],
  served: ({ method }) => [method],
})

export const rows: readonly Row[] = [
  headerRow('`X-Role: user`, `x-rOLE: admin`', 'x-role', 'X-Role: user', 'x-rOLE: admin'),
  headerRow('`X-Role: user, admin`', 'x-role', 'X-Role: user, admin'),
  headerRow('`X_Role: admin`', 'x-role', 'X_Role: admin'),
  headerRow('`X-Role: user` and a line ` admin`', 'x-role', 'X-Role: user,', ' admin'),
  headerRow('`X-Role : admin`', 'x-role', 'X-Role : admin'),
  headerRow('a control character in a value', 'x-role', 'X-Role: admin\x01'),
  headerRow('`X-Role` of the connection alone', 'x-role', 'X-Role: admin', 'Connection: X-Role'),
  headerRow('two of `User-Agent`', 'user-agent', 'User-Agent: good', 'User-Agent: evil'),
  headerRow('no `User-Agent`', 'user-agent'),
  headerRow('two of `Cookie`', 'cookie', 'Cookie: role=user', 'Cookie: role=admin'),
  targetRow('`?role=user&role=admin`', 'GET /p?role=user&role=admin'),
  targetRow('`?a=1;role=admin`', 'GET /p?a=1;role=admin'),
  targetRow('`?a=1#&role=admin`', 'GET /p?a=1#&role=admin'),
  methodRow('the method `delete`', 'delete /p'),
  headerRow('`X-HTTP-Method-Override: DELETE`', 'x-http-method-override', 'X-HTTP-Method-Override: DELETE'),
  hostRow('`Host: PRIVATE.example.`', withLines([], { host: 'PRIVATE.example.' })),
  hostRow('`Host: private.example:1`', withLines([], { host: 'private.example:1' })),
  hostRow('two of `Host`', (port) => withLines([`Host: private.example:${port}`])(port)),
  hostRow(
    '`Host: public.example,private.example`',
    withLines([], { host: 'public.example,private.example' }),
  ),
  hostRow(
    '`GET http://private.example/p`, `Host: public.example`',
    withLines([], { line: 'GET http://private.example/p' }),
  ),
  hostRow('`X-Forwarded-Host: private.example`', withLines(['X-Forwarded-Host: private.example'])),
  headerRow('`X-Original-URL: /other`', 'x-original-url', 'X-Original-URL: /other'),
  headerRow('`X-Rewrite-URL: /other`', 'x-rewrite-url', 'X-Rewrite-URL: /other'),
]

/** A proxy's cell in the table: the values in their order, or that the request is refused. */
export function cellOf({ asked, served }: Seen, row: Row): string {
  if (served === undefined) return 'refused'
  if (asked === undefined) return 'served without a question'
  const [byWeir, byApp] = [shown(row.asked(asked)), shown(row.served(served))]
  return byWeir === byApp ? byWeir : `Weir: ${byWeir}; server: ${byApp}`
}

const shown = (values: readonly string[]): string =>
  values.length === 0
    ? 'none'
    : [...new Set(values.map((value) => value.replace(/ +/g, ' ')))]
        .map((value) => (value === '' ? 'empty' : `\`${value}\``))
        .join(', ')
