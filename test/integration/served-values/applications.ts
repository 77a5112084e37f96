/**
 * Applications read a request differently: each takes one of the values of a header, a cookie or a parameter.
 */
import type { Served } from './open.js'

/** Every value that some application may take for the name. */
export interface Taken {
  readonly role: ReadonlySet<string>
  readonly cookie: ReadonlySet<string>
  readonly parameter: ReadonlySet<string>
  readonly method: ReadonlySet<string>
  readonly host: ReadonlySet<string>
}

export function takenFrom(served: Served): Taken {
  return {
    role: new Set(['x-role'].flatMap((name) => headersOf(served, name))),
    cookie: new Set(cookiesOf(served)),
    parameter: new Set(parametersOf(served)),
    method: new Set(methodsOf(served)),
    host: new Set(hostsOf(served)),
  }
}

type Values = readonly string[]

/** The values of the header, as it is written; as CGI and WSGI write it; all joined; and each part between commas. */
function headersOf({ headers }: Served, wanted: string): Values {
  const exact = headers.filter(({ name }) => name.toLowerCase() === wanted).map(({ value }) => value)
  const inCgi = headers
    .filter(({ name }) => name.toLowerCase().replace(/[^a-z\d]/g, '-') === wanted)
    .map(({ value }) => value)
  return [exact, inCgi].flatMap((values) => [
    ...values,
    values.join(', '),
    values.join(','),
    ...values.flatMap((value) => value.split(',')).map((part) => part.trim()),
  ])
}

function cookiesOf({ headers }: Served): Values {
  const lines = headers.filter(({ name }) => name.toLowerCase() === 'cookie').map(({ value }) => value)
  const texts = [...lines, lines.join('; '), lines.join(', ')]
  return texts
    .flatMap((text) => [text.split(';'), text.split(/[;,]/)])
    .flat()
    .map((part) => ({
      name: part.slice(0, part.indexOf('=')).trim(),
      value: part.slice(part.indexOf('=') + 1).trim(),
    }))
    .filter(({ name }) => /^role(?:$|\[)/i.test(name))
    .flatMap(({ value }) => [
      value,
      value.replace(/^"(.*)"$/, '$1'),
      decodedOr(value.replace(/^"(.*)"$/, '$1')),
      unescaped(value.replace(/^"(.*)"$/, '$1')),
    ])
}

/** As Python reads it. */
const unescaped = (quoted: string): string =>
  quoted.replace(/\\([0-3][0-7]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

function decodedOr(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** As PHP, Express, Rails, old Java and ASP.NET name parameters. */
function parametersOf({ target }: Served): Values {
  const query = target.slice(target.indexOf('?') + 1)
  if (!target.includes('?')) return []
  const values = [query, query.replace(/#.*/, ''), query.replaceAll(';', '&')].flatMap((text) =>
    [...new URLSearchParams(text)]
      .filter(([name]) => /^\s*role(?:$|\[|\0)/i.test(name))
      .map(([, value]) => value),
  )
  return [...values, values.join(','), values.join(', ')]
}

function methodsOf(served: Served): Values {
  const { method, target, headers } = served
  const asked = headers
    .filter(({ name }) => /^x[-_](?:http[-_])?method(?:[-_]override)?$/i.test(name))
    .flatMap(({ value }) => value.split(','))
  const inQuery = target.includes('?')
    ? new URLSearchParams(target.slice(target.indexOf('?'))).getAll('_method')
    : []
  return [method, ...asked, ...inQuery].map((each) => each.trim().toUpperCase())
}

function hostsOf({ headers, target }: Served): Values {
  const [, inTarget] = /^https?:\/\/([^/?#]*)/i.exec(target) ?? []
  const named = headers
    .filter(({ name }) => ['host', 'x-forwarded-host'].includes(name.toLowerCase()))
    .flatMap(({ value }) => [value, ...value.split(',')])
  return [...named, ...(inTarget === undefined ? [] : [inTarget])]
    .map((host) => host.trim().toLowerCase())
    .flatMap((host) => [host, host.replace(/^.*@/, '')])
    .flatMap((host) => [host.replace(/:\d*$/, ''), host.replace(/:.*$/, '')])
    .map((host) => host.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, ''))
}
