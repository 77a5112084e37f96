/** The connection or request that is asked about: as fields, and as the record that they mean. */
import { type Question, questionTypes } from '../console/data/decisions/question.js'

export interface Connection extends Question {
  /** Two letters; empty: unknown. */
  readonly country: string
  /** The number of an autonomous system; empty: unknown. */
  readonly asn: string
  /** More members of the record, as YAML. */
  readonly more: string
}

type Members = Readonly<Record<string, unknown>>

/** `more`: the members of the record that have no field. Throws an error that says which field is wrong. */
export function recordOf(connection: Connection, more: Members): Members {
  const { client, endpoint, type, method, path, country, asn } = connection
  if (!/^\d*$/.test(asn)) throw new Error(`The AS "${asn}" must be a number, such as 64496.`)
  return merged(
    {
      type,
      conn: { ...(client !== '' && { client_ip: client }), ...serverOf(endpoint) },
      ...(type === 'http_request' && { http: { request: { method, url: { path } } } }),
      ...(country !== '' && { country }),
      ...(asn !== '' && { asn: Number(asn) }),
    },
    more,
  )
}

function serverOf(endpoint: string): Members {
  if (endpoint === '') return {}
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(endpoint) ?? []
  if (host === undefined)
    throw new Error(`The endpoint "${endpoint}" must be a host and a port, such as www.example.com:443.`)
  return { server_name: host, server_port: Number(port) }
}

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Members of objects in both are merged, all others are those of `more`. */
function merged(base: Members, more: Members): Members {
  const both = Object.entries(more).map(([name, value]) => {
    const own = Object.hasOwn(base, name) ? base[name] : undefined
    return [name, isMembers(own) && isMembers(value) ? merged(own, value) : value]
  })
  return { ...base, ...Object.fromEntries(both) }
}

/** The fields that mean a record; what has no field is in `more`, as JSON, which is YAML. */
export function connectionOf(record: Members): Connection {
  const rest = structuredClone(record) as Record<string, unknown>
  const take = (...names: readonly string[]): string => takenFrom(rest, names)
  const type = take('type')
  const [host, port] = [take('conn', 'server_name'), take('conn', 'server_port')]
  const fields = {
    client: take('conn', 'client_ip'),
    endpoint: host === '' ? '' : `${host}:${port}`,
    type: questionTypes.find(([each]) => each === type)?.[0] ?? 'tcp_connection',
    method: take('http', 'request', 'method').toUpperCase() || 'GET',
    path: take('http', 'request', 'url', 'path') || '/',
    country: take('country'),
    asn: take('asn'),
  }
  return { ...fields, more: Object.keys(rest).length === 0 ? '' : JSON.stringify(rest, null, 2) }
}

/** Removes a text or number, and objects that have nothing else; empty if it is not there. */
function takenFrom(members: Record<string, unknown>, [name = '', ...below]: readonly string[]): string {
  const value = Object.hasOwn(members, name) ? members[name] : undefined
  if (below.length === 0) {
    if (typeof value !== 'string' && typeof value !== 'number') return ''
    delete members[name]
    return String(value)
  }
  if (!isMembers(value)) return ''
  const taken = takenFrom(value as Record<string, unknown>, below)
  if (Object.keys(value).length === 0) delete members[name]
  return taken
}
