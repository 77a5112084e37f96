/** The same requests over HTTP/2, without TLS. */
import { connect, type OutgoingHttpHeaders } from 'node:http2'
import type { Wire } from './open.js'

export const http2: Wire = { http2: true, send: statusOf }

/** Of a connection of HTTP/1, which HTTP/2 has not; and names that no client could send. */
const isLeftOut = (name: string): boolean =>
  ['host', 'connection', 'upgrade', 'content-length'].includes(name) || !/^[\w.-]+$/.test(name)

/**
 * `Host` becomes `:authority`; another one stays beside it. Equal names stay several fields, also those of cookies, as
 * browsers split them.
 */
function headersOf(request: string): OutgoingHttpHeaders {
  const [line = '', ...fields] = request
    .slice(0, request.indexOf('\r\n\r\n'))
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const [method = '', target = ''] = line.split(' ')
  const [, inTarget, path] = /^http:\/\/([^/]*)(.*)$/.exec(target) ?? []
  const named = fields.map((field) => {
    const end = field.indexOf(':')
    return { name: field.slice(0, end).toLowerCase(), value: field.slice(end + 1).replace(/^ /, '') }
  })
  const hosts = named.filter(({ name }) => name === 'host').map(({ value }) => value)
  const [authority, other] = inTarget === undefined ? hosts : [inTarget, ...hosts]
  const headers: Record<string, string[] | string> = {
    ':method': method,
    ':path': path ?? target,
    ':scheme': 'http',
    ':authority': authority ?? '',
    ...(other === undefined ? {} : { host: other }),
  }
  for (const { name, value } of named) if (!isLeftOut(name)) headers[name] = [...(headers[name] ?? []), value]
  return headers
}

async function statusOf(port: number, request: string): Promise<number | undefined> {
  const session = connect(`http://127.0.0.1:${port}`)
  try {
    return await new Promise((resolve) => {
      session.on('error', () => resolve(undefined))
      session.on('close', () => resolve(undefined))
      const stream = session.request(headersOf(request), { endStream: true })
      stream.on('error', () => resolve(undefined))
      stream.on('close', () => resolve(undefined))
      stream.on('response', (headers) => stream.resume().on('end', () => resolve(headers[':status'])))
    })
  } catch {
    // Node's client does not send it.
    return undefined
  } finally {
    session.destroy()
  }
}
