/**
 * Proxies that pass requests on to each other, and one at the end of each chain that answers and writes a log. Every hop
 * trusts the ones before it, which come from 127.0.0.1, and no client. A program serves all its hops, of all chains.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from './free-ports.js'
import { type Entrance, type LogProgram, logPrograms, spawned } from './log-programs.js'
import { envoyFiles, envoyHttp, meshLogPrograms, startEnvoy } from './mesh-log-programs.js'
import { configuredNginx } from './nginx-file.js'

/** In the order that a request passes them. The last one logs. */
export type Chain = readonly ChainedName[]
export type ChainedName = keyof typeof chained

interface Hop {
  readonly port: number
  /** Undefined at the end of the chain. */
  readonly next: number | undefined
  /** How many proxies are before it. */
  readonly before: number
}

/** Serves these hops. A log is named by its port, unless the program has one for all. */
type Starting = (dir: string, hops: readonly Hop[]) => ReturnType<LogProgram['start']>

interface Chained {
  readonly of: LogProgram
  readonly start: Starting
  readonly format: string
  readonly files: (port: number) => readonly string[]
}

const nginx: Starting = (dir, hops) => {
  const server = ({ port, next, before }: Hop): string => `server {
listen 127.0.0.1:${port};
${
  next === undefined
    ? `${before === 0 ? '' : 'set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For; real_ip_recursive on;'}
access_log ${port}.log combined; access_log ${port}-json.log json; location / { return 200 x; }`
    : `location / { proxy_pass http://127.0.0.1:${next}; proxy_http_version 1.1; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }`
}
}`
  const args = configuredNginx(
    dir,
    `access_log off;
log_format json escape=json '{"remote_addr":"$remote_addr","remote_port":"$remote_port","realip_remote_addr":"$realip_remote_addr","proxy_add_x_forwarded_for":"$proxy_add_x_forwarded_for","request":"$request","status":"$status"}';
${hops.map(server).join('\n')}`,
  )
  return spawned(dir, logPrograms.nginx.program, args)
}

const apache: Starting = (dir, hops) => {
  mkdirSync(join(dir, 'htdocs'), { recursive: true })
  const modules = ['mpm_event', 'authz_core', 'remoteip', 'proxy', 'proxy_http']
  // It adds to the list by itself.
  const host = ({ port, next, before }: Hop): string => `Listen 127.0.0.1:${port}
<VirtualHost 127.0.0.1:${port}>
${
  next === undefined
    ? `${before === 0 ? '' : 'RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1'}
CustomLog "${dir}/${port}.log" "%h %l %u %t \\"%r\\" %>s %b \\"%{Referer}i\\" \\"%{User-Agent}i\\""`
    : `ProxyPass / http://127.0.0.1:${next}/`
}
</VirtualHost>`
  writeFileSync(
    join(dir, 'apache.conf'),
    `ServerRoot "${dir}"
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
PidFile "${dir}/pid"
ErrorLog "${dir}/error.log"
DefaultRuntimeDir "${dir}"
ServerName web.example
DocumentRoot "${dir}/htdocs"
${hops.map(host).join('\n')}
`,
  )
  return spawned(dir, logPrograms.apache.program, ['-DFOREGROUND', '-f', join(dir, 'apache.conf')])
}

const haproxy: Starting = (dir, hops) => {
  const frontend = ({ port, next, before }: Hop): string => `frontend f${port}
bind 127.0.0.1:${port}
${
  next === undefined
    ? `option httplog
log global
${before === 0 ? '' : `http-request set-src hdr_ip(x-forwarded-for,-${before})\nhttp-request set-src-port int(0)`}
http-request return status 200`
    : `option forwardfor
default_backend b${port}
backend b${port}
server next 127.0.0.1:${next}`
}`
  writeFileSync(
    join(dir, 'haproxy.cfg'),
    `global
nbthread 1
log stdout len 65535 format raw local0
defaults
mode http
timeout client 10s
timeout server 10s
timeout connect 5s
${hops.map(frontend).join('\n')}
`,
  )
  return spawned(dir, logPrograms.haproxy.program, ['-db', '-f', 'haproxy.cfg'], 'haproxy.log')
}

const caddy: Starting = (dir, hops) => {
  const site = ({ port, next }: Hop): string => `http://:${port} {
bind 127.0.0.1
${
  next === undefined
    ? `log {
output file "${dir}/${port}.log"
}
respond x 200`
    : `reverse_proxy 127.0.0.1:${next} {
trusted_proxies 127.0.0.1/32
}`
}
}`
  writeFileSync(join(dir, 'Caddyfile'), `{\nadmin off\nauto_https off\n}\n${hops.map(site).join('\n')}\n`)
  return spawned(dir, logPrograms.caddy.program, ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'])
}

const envoy: Starting = (dir, hops) =>
  startEnvoy(
    dir,
    hops.map(({ port, before }) =>
      envoyHttp(dir, String(port), port, { use_remote_address: true, xff_num_trusted_hops: before }),
    ),
  )

const traefik: Starting = (dir, hops) => {
  const named = <T>(of: (hop: Hop) => T | undefined): Record<string, T> =>
    Object.fromEntries(
      hops.flatMap((hop) => {
        const made = of(hop)
        return made === undefined ? [] : [[`p${hop.port}`, made] as const]
      }),
    )
  const routes = {
    http: {
      routers: named(({ port, next }) => ({
        rule: 'PathPrefix(`/`)',
        entryPoints: [`p${port}`],
        service: next === undefined ? 'ping@internal' : `p${port}`,
      })),
      services: named(({ next }) =>
        next === undefined ? undefined : { loadBalancer: { servers: [{ url: `http://127.0.0.1:${next}` }] } },
      ),
    },
  }
  const settings = {
    entryPoints: named(({ port, before }) => ({
      address: `127.0.0.1:${port}`,
      ...(before === 0 ? {} : { forwardedHeaders: { trustedIPs: ['127.0.0.1'] } }),
    })),
    accessLog: { filePath: join(dir, 'traefik.log'), format: 'json', addInternals: true },
    ping: { manualRouting: true },
    providers: { file: { filename: join(dir, 'routes.yml') } },
  }
  writeFileSync(join(dir, 'routes.yml'), JSON.stringify(routes))
  writeFileSync(join(dir, 'traefik.yml'), JSON.stringify(settings))
  const { program } = meshLogPrograms['traefik (JSON)']
  return spawned(dir, program, [`--configFile=${join(dir, 'traefik.yml')}`])
}

const byPort = (port: number): string[] => [`${port}.log`]

export const chained = {
  nginx: {
    of: logPrograms.nginx,
    start: nginx,
    format: 'nginx',
    files: (port) => [`${port}.log`, `${port}-json.log`],
  },
  apache: { of: logPrograms.apache, start: apache, format: 'combined', files: byPort },
  haproxy: { of: logPrograms.haproxy, start: haproxy, format: 'haproxy', files: () => ['haproxy.log'] },
  caddy: { of: logPrograms.caddy, start: caddy, format: 'caddy', files: byPort },
  envoy: { of: meshLogPrograms.envoy, start: envoy, format: 'envoy', files: envoyFiles },
  traefik: {
    of: meshLogPrograms['traefik (JSON)'],
    start: traefik,
    format: 'traefik',
    files: () => ['traefik.log'],
  },
} satisfies Record<string, Chained>

/** The hops of each chain, each with a port of its own. */
export async function hopsOf(chains: readonly Chain[]): Promise<Hop[][]> {
  const ports = await freePorts(chains.flat().length)
  return chains.map((chain) => {
    const ours = ports.splice(0, chain.length)
    return ours.map((port, before) => ({ port, next: ours[before + 1], before }))
  })
}

/** The program with its hops, each of which is an entrance. */
export const programOf = (name: ChainedName, hops: readonly Hop[]): LogProgram => ({
  program: chained[name].of.program,
  logsRefused: true,
  start: (dir) => chained[name].start(dir, hops),
  entrances: () =>
    hops.map(
      ({ port }): Entrance => ({
        port,
        client: 'peer',
        logs: chained[name].files(port).map((file) => ({ format: chained[name].format, file, shows: [] })),
      }),
    ),
})
