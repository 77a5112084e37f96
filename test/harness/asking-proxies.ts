/** Proxies that ask Weir before they serve, as `docs/recipes` sets them up. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { recipe } from './recipe.js'

/** What a proxy is set up with. */
export interface ProxySetup {
  readonly dir: string
  readonly port: number
  /** `127.0.0.1:8081`, where Weir answers. */
  readonly weir: string
  /** The application behind the proxy. */
  readonly app: string
  readonly key: string
  /** The edge, for proxies that name it. */
  readonly edgeId: string
  /** More of the proxy's configuration, such as of its log. */
  readonly more?: string
}

export interface AskingProxy {
  readonly name: string
  /** Undefined if it is not installed. */
  readonly program: string | undefined
  /** Writes its configuration and starts it. */
  readonly start: (program: string, setup: ProxySetup) => ChildProcess
}

/** Debian's programs, and those that `.ci` or a developer put into the cache. */
const programAt = (...places: readonly string[]): string | undefined =>
  places.find((place) => existsSync(place))
const inPath = (name: string): string[] => [
  ...(process.env['PATH'] ?? '').split(delimiter).map((dir) => join(dir, name)),
  join(homedir(), `.cache/weir/${name}/bin/${name}`),
]

function spawnIn(dir: string, program: string, args: readonly string[]): ChildProcess {
  const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }
  return spawn(program, args, { cwd: dir, env })
}

export const nginx: AskingProxy = {
  name: 'nginx',
  program: programAt('/usr/sbin/nginx'),
  start(program, { dir, port, weir, app, key, more = 'access_log off;' }) {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    for (const each of temporary) mkdirSync(join(dir, each), { recursive: true })
    const asks = recipe('nginx', 'nginx closed', {
      ...{ '127.0.0.1:8081': weir, 'http://app': `http://${app}`, 'weir_…': key },
    })
    const server = `server { listen 127.0.0.1:${port}; keepalive_requests 10000; ${asks} }`
    const paths = temporary.map((each) => `${each}_temp_path ${each};`).join(' ')
    const head = 'daemon off; master_process off; pid pid; error_log error.log;\nevents {}\n'
    writeFileSync(join(dir, 'nginx.conf'), `${head}http { ${paths}\n${more}\n${server} }\n`)
    return spawnIn(dir, program, ['-p', dir, '-c', 'nginx.conf', '-e', 'error.log'])
  },
}

export const haproxy: AskingProxy = {
  name: 'HAProxy',
  program: programAt('/usr/sbin/haproxy'),
  start(program, { dir, port, weir, app, key, more = '' }) {
    const lua = recipe('haproxy', 'haproxy lua', { '127.0.0.1:8081': weir, 'weir_…': key })
    writeFileSync(join(dir, 'weir.lua'), lua)
    const config = `global
lua-load weir.lua
defaults
mode http
timeout client 30s
timeout server 30s
timeout connect 5s
frontend web
bind 127.0.0.1:${port}
${more}
${recipe('haproxy', 'haproxy asks')}
default_backend app
backend app
server app ${app}
`
    writeFileSync(join(dir, 'haproxy.cfg'), config)
    return spawnIn(dir, program, ['-db', '-f', 'haproxy.cfg'])
  },
}

export const caddy: AskingProxy = {
  name: 'Caddy',
  program: programAt('/usr/bin/caddy'),
  start(program, { dir, port, weir, app, key, more = '' }) {
    const site = recipe('caddy', 'caddy', {
      ...{ 'www.example.com {': `http://:${port} {\n${more}`, '127.0.0.1:8081': weir, 'weir_…': key },
      ...{ 'app:8080': app, '{host}:443': `{host}:${port}` },
    })
    writeFileSync(join(dir, 'Caddyfile'), `{\nadmin off\nauto_https off\n}\n${site}`)
    return spawnIn(dir, program, ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'])
  },
}

const indented = (text: string, spaces: number): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => ' '.repeat(spaces) + line)
    .join('\n')

const envoyCluster = (name: string, address: string): string => {
  const [host, port] = address.split(':')
  return `  - name: ${name}
    type: STATIC
    load_assignment:
      cluster_name: ${name}
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: ${host}, port_value: ${port} } } } }] }]
`
}

const envoy: AskingProxy = {
  name: 'Envoy',
  program: programAt(...inPath('envoy')),
  start(program, { dir, port, weir, app, key }) {
    const asks = recipe('envoy', 'envoy asks', { '127.0.0.1:8081': weir, 'weir_…': key })
    const config = `static_resources:
  listeners:
  - address: { socket_address: { address: 127.0.0.1, port_value: ${port} } }
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: web
          upgrade_configs: [{ upgrade_type: websocket }]
${indented(recipe('envoy', 'envoy manager'), 10)}
          route_config:
            virtual_hosts: [{ name: app, domains: ["*"], request_headers_to_remove: [x-forwarded-host], routes: [{ match: { prefix: "" }, route: { cluster: app } }] }]
          http_filters:
          -
${indented(asks, 12)}
          - name: envoy.filters.http.router
            typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
  clusters:
${envoyCluster('weir', weir)}${envoyCluster('app', app)}`
    writeFileSync(join(dir, 'envoy.yaml'), config)
    const args = ['-c', 'envoy.yaml', '--concurrency', '1', '--disable-hot-restart', '-l', 'warning']
    return spawnIn(dir, program, args)
  },
}

const traefik: AskingProxy = {
  name: 'Traefik',
  program: programAt(...inPath('traefik')),
  start(program, { dir, port, weir, app, key, edgeId }) {
    const asks = recipe('traefik', 'traefik asks', {
      ...{ '127.0.0.1:8081': weir, 'weir_…': key, 'edghts_…': edgeId },
      'Host(`www.example.com`)': 'PathPrefix(`/`)',
    })
    const service = `  services:\n    app: { loadBalancer: { servers: [{ url: "http://${app}" }] } }\n`
    writeFileSync(join(dir, 'dynamic.yml'), `${asks.trimEnd()}\n${service}`)
    writeFileSync(
      join(dir, 'traefik.yml'),
      `global: { checkNewVersion: false, sendAnonymousUsage: false }
entryPoints: { web: { address: "127.0.0.1:${port}" } }
providers: { file: { filename: dynamic.yml, watch: false } }
`,
    )
    return spawnIn(dir, program, ['--configFile=traefik.yml'])
  },
}

export const askingProxies: readonly AskingProxy[] = [nginx, haproxy, caddy, envoy, traefik]
