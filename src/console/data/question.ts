/** A question that is asked by hand: may this client connect there, or send this request? */
import type { DecisionRequest } from '../../client/client.js'
import type { Parameters } from './location.js'

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

/** Of the URL of a question. */
export const parametersOf = ({ client, endpoint, type, method, path }: Question): Parameters => ({
  client,
  endpoint,
  ...(type === 'http_request' && { type, method, path }),
})
