/**
 * A question that someone asks by hand: may this client connect there, or send this request? And the meaning of a text in
 * the search field.
 */
import type { DecisionRequest } from '../../../../words/client/client.js'

/** As the URL has it, so that a question can be sent to someone. */
export interface Question {
  readonly client: string
  /** `host:port`, or the id of an edge. */
  readonly endpoint: string
  readonly type: DecisionRequest['type']
  readonly method: string
  readonly path: string
}

export const questionTypes = [
  ['tcp_connection', 'a connection'],
  ['http_request', 'an HTTP request'],
] as const

export function questionIn(parameter: (name: string) => string): Question {
  const type = parameter('type') === 'http_request' ? 'http_request' : 'tcp_connection'
  return {
    client: parameter('client'),
    endpoint: parameter('endpoint'),
    type,
    method: parameter('method') || 'get',
    path: parameter('path') || '/',
  }
}

/** Undefined if it says too little to be asked. Throws an error that says what is wrong with the endpoint. */
export function requestOf({ client, endpoint, type, method, path }: Question): DecisionRequest | undefined {
  if (client === '' || endpoint === '') return undefined
  const named = endpointOf(endpoint)
  const request = {
    type,
    conn: { client_ip: client, ...('server' in named && named.server) },
    ...('edge' in named && { edge_id: named.edge }),
    ...(type === 'http_request' && { http: { request: { method, url: { path } } } }),
  }
  return request as DecisionRequest
}

function endpointOf(text: string) {
  if (/^edg\w+$/.test(text)) return { edge: text }
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  if (host === undefined)
    throw new Error(`The endpoint "${text}" must be a host and a port, such as www.example.com:443`)
  return { server: { server_name: host, server_port: Number(port) } }
}

/** The parameters of the URL of a question. */
export const parametersOf = ({
  client,
  endpoint,
  type,
  method,
  path,
}: Question): Readonly<Record<string, string>> => ({
  client,
  endpoint,
  ...(type === 'http_request' && { type, method, path }),
})

/** Parameters of a search, or the event whose record is looked for. */
type Meaning = { readonly changes: Readonly<Record<string, string>> } | { readonly eventId: string }

const address =
  /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=[^:]*:[^:]*:)[\da-f:]+(?:\d{1,3}(?:\.\d{1,3}){3})?)(?:\/\d{1,3})?$/i
const host = /^(?:[\w*-]+\.)+[\w-]+(?::(\d{1,5}))?$/
const idParameters: readonly (readonly [prefix: string, name: string])[] = [
  ['ipr_', 'rule_id'],
  ['edgtcp_', 'edge_id'],
  ['edghts_', 'edge_id'],
  ['edghtsrt_', 'route_id'],
]

/**
 * The meaning of a text that someone types into the search field: an address, a range, the id of a rule, an edge, a record
 * or an event, an AS, an endpoint; anything else is an expression. `isName`: does an expression know this name?
 */
export function meaningOf(text: string, isName: (name: string) => boolean): Meaning {
  if (address.test(text)) return { changes: { client: text } }
  if (/^ev_[0-9a-f]{48}$/.test(text)) return { eventId: text }
  const asn = /^AS(\d{1,10})$/i.exec(text)?.[1]
  if (asn !== undefined) return { changes: { asn } }
  const [, name] = idParameters.find(([prefix]) => text.startsWith(prefix) && /^\w+$/.test(text)) ?? []
  if (name !== undefined) return { changes: { [name]: text } }
  const endpoint = host.exec(text)
  if (endpoint !== null && !isName(text)) {
    const [, port] = endpoint
    const server = `server_name == '${text.split(':')[0]}'`
    return { changes: { filter: port === undefined ? server : `${server} && server_port == ${port}` } }
  }
  // A record's id may be any text; one word that no expression knows is taken for one.
  if (/^[\w-]*\d[\w-]*$/.test(text) && !isName(text)) return { changes: { record_id: text } }
  return { changes: { filter: text } }
}
