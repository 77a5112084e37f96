/** Proxies that ask Weir before they serve, as `docs/recipes` sets them up. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { configuredNginx } from './nginx-file.js'
import { recipe } from './recipe.js'

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
  /** It takes HTTP/2 without TLS. */
  readonly http2?: boolean
  /** The names that it serves; without, any. */
  readonly names?: 'those of the recipe'
}

const appAddress = '127.0.0.1:3000'

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
  start(program, { dir, port, weir, app, key, names, http2, more = 'access_log off;' }) {
    const asks = recipe('nginx', 'nginx closed', { '127.0.0.1:8081': weir, 'weir_…': key })
    writeFileSync(join(dir, 'weir.conf'), asks)
    const server = recipe('nginx', 'nginx server', {
      [appAddress]: app,
      'listen 80;': `listen 127.0.0.1:${port}${http2 ? ' http2' : ''}; keepalive_requests 10000;`,
      '/etc/nginx/weir.conf': 'weir.conf',
      ...(names ? {} : { 'server_name www.example.com;': '' }),
    })
    return spawnIn(dir, program, configuredNginx(dir, `${more}\n${server}`))
  },
}

export const haproxy: AskingProxy = {
  name: 'HAProxy',
  program: programAt('/usr/sbin/haproxy'),
  start(program, { dir, port, weir, app, key, http2, more = '' }) {
    const lua = recipe('haproxy', 'haproxy lua', { '127.0.0.1:8081': weir, 'weir_…': key })
    writeFileSync(join(dir, 'weir.lua'), lua)
    const config = recipe('haproxy', 'haproxy asks', {
      '/etc/haproxy/weir.lua': 'weir.lua',
      [appAddress]: app,
      'bind :80': `bind 127.0.0.1:${port}${http2 ? ' proto h2' : ''}\n${more}`,
    })
    writeFileSync(join(dir, 'haproxy.cfg'), config)
    return spawnIn(dir, program, ['-db', '-f', 'haproxy.cfg'])
  },
}

export const caddy: AskingProxy = {
  name: 'Caddy',
  program: programAt('/usr/bin/caddy'),
  start(program, { dir, port, weir, app, key, names, http2, more = '' }) {
    const site = recipe('caddy', 'caddy', {
      'http://www.example.com {': `http://${names ? 'www.example.com' : ''}:${port} {\n${more}`,
      '127.0.0.1:8081': weir,
      'weir_…': key,
      [appAddress]: app,
      '{host}:80': `{host}:${port}`,
    })
    writeFileSync(
      join(dir, 'Caddyfile'),
      `{\nadmin off\nauto_https off\n${http2 ? 'servers {\nprotocols h1 h2c\n}\n' : ''}}\n${site}`,
    )
    return spawnIn(dir, program, ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'])
  },
}

const envoy: AskingProxy = {
  name: 'Envoy',
  program: programAt(...inPath('envoy')),
  start(program, { dir, port, weir, app, key, names }) {
    const portOf = (address: string): string => `address: 127.0.0.1, port_value: ${address.split(':')[1]} `
    const config = recipe('envoy', 'envoy asks', {
      'http://127.0.0.1:8081': `http://${weir}`,
      'weir_…': key,
      'address: 0.0.0.0, port_value: 80 ': portOf(`127.0.0.1:${port}`),
      [portOf('127.0.0.1:8081')]: portOf(weir),
      [portOf(appAddress)]: portOf(app),
      ...(names ? {} : { 'domains: ["www.example.com"]': 'domains: ["*"]' }),
      // Else it keeps each connection on which it refused a request for a second.
      'use_remote_address: true': 'delayed_close_timeout: 0.01s\n                use_remote_address: true',
    })
    writeFileSync(join(dir, 'envoy.yaml'), config)
    const args = ['-c', 'envoy.yaml', '--concurrency', '1', '--disable-hot-restart', '-l', 'warning']
    return spawnIn(dir, program, args)
  },
}

const traefik: AskingProxy = {
  name: 'Traefik',
  program: programAt(...inPath('traefik')),
  start(program, { dir, port, weir, app, key, edgeId, names }) {
    const asks = recipe('traefik', 'traefik asks', {
      '127.0.0.1:8081': weir,
      'weir_…': key,
      'edghts_…': edgeId,
      [appAddress]: app,
      ...(names ? {} : { 'Host(`www.example.com`)': 'PathPrefix(`/`)' }),
    })
    writeFileSync(join(dir, 'weir.yml'), asks)
    const main = recipe('traefik', 'traefik', {
      '":80"': `"127.0.0.1:${port}"`,
      '/etc/traefik/weir.yml': 'weir.yml',
    })
    // Tests reach nothing but this machine.
    const silent = 'global: { checkNewVersion: false, sendAnonymousUsage: false }\n'
    writeFileSync(join(dir, 'traefik.yml'), `${silent}${main}`)
    return spawnIn(dir, program, ['--configFile=traefik.yml'])
  },
}

export const askingProxies: readonly AskingProxy[] = [nginx, haproxy, caddy, envoy, traefik]
