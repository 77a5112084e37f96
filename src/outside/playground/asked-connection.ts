/** The connection or request that is asked about: as fields, and as the record that they mean. */

import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { type Question, questionTypes } from '../console/data/decisions/question.js'

export interface Connection extends Question {
  /** Two letters; empty: unknown. */
  readonly country: string
  /** The number of an autonomous system; empty: unknown. */
  readonly asn: string
  /** More members of the record, as YAML. */
  readonly more: string
}

/** `more`: the members of the record that have no field. Throws an error that says which field is wrong. */
export function recordOf(connection: Connection, more: JsonObject): JsonObject {
  const { client, endpoint, type, method, path, country, asn } = connection
  if (!/^\d*$/.test(asn)) throw new Error(`The AS "${asn}" must be a number, such as 64496.`)
  return merged(
    {
      type,
      conn: { ...(client !== '' && { client_ip: client }), ...serverOf(endpoint) },
      ...(type === 'http_request' && { http: { request: requestOf(method, path) } }),
      ...(country !== '' && { country }),
      ...(asn !== '' && { asn: Number(asn) }),
    },
    more,
  )
}

const requestOf = (method: string, path: string): JsonObject => ({
  ...(method !== '' && { method }),
  ...(path !== '' && { url: { path } }),
})

function serverOf(endpoint: string): JsonObject {
  if (endpoint === '') return {}
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(endpoint) ?? []
  if (host === undefined)
    throw new Error(`The endpoint "${endpoint}" must be a host and a port, such as www.example.com:443.`)
  return { server_name: host, server_port: Number(port) }
}

/** JsonObject of objects in both are merged, all others are those of `more`. */
function merged(base: JsonObject, more: JsonObject): JsonObject {
  const both = Object.entries(more).map(([name, value]) => {
    const own = Object.hasOwn(base, name) ? base[name] : undefined
    return [name, isObject(own) && isObject(value) ? merged(own, value) : value]
  })
  return { ...base, ...Object.fromEntries(both) }
}

/**
 * The fields that mean a record. What has no field, or not the form that its field needs, is in `more`, as JSON, which is
 * YAML: it is decided about as it was given, and its faults are said.
 */
export function connectionOf(record: JsonObject): Connection {
  const rest = structuredClone(record) as Record<string, unknown>
  const text = (...path: readonly string[]): string => takenFrom(rest, path, isText)
  const type = questionTypes.find(([each]) => each === record['type'])?.[0]
  if (type !== undefined) delete rest['type']
  const conn = isObject(record['conn']) ? record['conn'] : {}
  // One field has both.
  const hasEndpoint = isText(conn['server_name']) && isNumber(conn['server_port'])
  const fields = {
    client: text('conn', 'client_ip'),
    endpoint: hasEndpoint
      ? `${text('conn', 'server_name')}:${takenFrom(rest, ['conn', 'server_port'], isNumber)}`
      : '',
    type: type ?? 'tcp_connection',
    method: type === 'http_request' ? text('http', 'request', 'method') : 'GET',
    path: type === 'http_request' ? text('http', 'request', 'url', 'path') : '/',
    country: text('country'),
    asn: takenFrom(rest, ['asn'], isNumber),
  }
  return { ...fields, more: Object.keys(rest).length === 0 ? '' : JSON.stringify(rest, null, 2) }
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
/** A field has digits alone. */
const isNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/** Removes a value that is right for its field, and objects that have nothing else; empty if it is not there. */
function takenFrom(
  members: Record<string, unknown>,
  [name = '', ...below]: readonly string[],
  isRight: (value: unknown) => boolean,
): string {
  const value = Object.hasOwn(members, name) ? members[name] : undefined
  if (below.length === 0) {
    if (!isRight(value)) return ''
    delete members[name]
    return String(value)
  }
  if (!isObject(value)) return ''
  const taken = takenFrom(value as Record<string, unknown>, below, isRight)
  if (Object.keys(value).length === 0) delete members[name]
  return taken
}
