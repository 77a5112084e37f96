/**
 * Programs that write logs, as they are: Debian's nginx, Apache, HAProxy and Caddy, each with several **entrances**, which
 * are ports with logs of their own. An entrance answers any request, so that its log is all that counts.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { LineSplitter } from '../../src/delivery/ingest/lines/line-splitter.js'
import { fixturePem } from './certificates.js'
import { freePorts } from './free-ports.js'
import { configuredNginx } from './nginx-file.js'
import { tempDir } from './temp-dir.js'
import { until } from './weir.js'

/** The parts of a request that an entrance shows in its log. */
type Shown = 'agent' | 'user' | 'host' | 'port'

export interface Log {
  readonly format: string
  readonly file: string
  readonly shows: readonly Shown[]
  /** Lines that can't be read without doubt are refused, for a reason like this. */
  readonly refuses?: RegExp
  /** How the log shows a target, if it is not as it was sent. */
  readonly target?: (sent: Buffer) => string
  readonly agent?: (sent: Buffer) => string
  /** Its lines are kept for machines without the program. */
  readonly isRecorded?: boolean
}

/**
 * How the client is known: it is the peer, or `X-Forwarded-For` of trusted peers says so, which may send it with each
 * request, or the PROXY protocol does.
 */
export type Client =
  | 'peer'
  | 'forwarded'
  | 'forwarded, always'
  | 'forwarded, the second from the end'
  | 'proxy protocol'

export interface Entrance {
  readonly port: number
  readonly client: Client
  readonly logs: readonly Log[]
}

export interface LogProgram {
  readonly program: string
  /** A request that the program can't read has a line, too. */
  readonly logsRefused: boolean
  /** Writes the configuration and starts it. */
  readonly start: (dir: string, ports: readonly number[]) => ChildProcess
  readonly entrances: (ports: readonly number[]) => readonly Entrance[]
  /** If it takes connections before it is. */
  readonly isReady?: (ports: readonly number[]) => Promise<boolean>
}

export const spawned = (
  dir: string,
  program: string,
  args: readonly string[],
  out?: string,
): ChildProcess => {
  const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }
  const fd = out === undefined ? undefined : openSync(join(dir, out), 'a')
  const child = spawn(program, args, { cwd: dir, env, stdio: ['ignore', fd ?? 'ignore', 'pipe'] })
  if (fd !== undefined) closeSync(fd)
  return child
}

// --- nginx ---

const nginxVariables = [
  ...['remote_addr', 'remote_port', 'realip_remote_addr', 'proxy_protocol_addr', 'proxy_protocol_port'],
  ...['remote_user', 'request', 'request_method', 'request_uri', 'uri', 'args', 'host', 'http_host'],
  ...['server_port', 'status', 'http_user_agent', 'body_bytes_sent', 'msec', 'request_time', 'scheme'],
]
const nginxJson = `{${nginxVariables.map((name) => `"${name}":"$${name}"`).join(',')}}`
const allOfNginx = ['agent', 'user', 'host', 'port'] as const

const nginx: LogProgram = {
  program: '/usr/sbin/nginx',
  logsRefused: true,
  start(dir, [peer, forwarded, proxied]) {
    const server = (port: number | undefined, more: string, options = ''): string =>
      `server { listen 127.0.0.1:${port}${options}; ${more} location / { return 200 x; } }`
    const args = configuredNginx(
      dir,
      `large_client_header_buffers 4 64k;
log_format json escape=json '${nginxJson}';
log_format plain '${nginxJson}';
${server(peer, 'access_log combined.log combined; access_log json.log json; access_log plain.log plain;')}
${server(forwarded, 'set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on; access_log forwarded.log combined; access_log forwarded-json.log json;')}
${server(proxied, 'access_log proxied.log json;', ' proxy_protocol')}`,
    )
    return spawned(dir, this.program, args)
  },
  entrances: ([peer = 0, forwarded = 0, proxied = 0]) => [
    {
      port: peer,
      client: 'peer',
      logs: [
        { format: 'nginx', file: 'combined.log', shows: ['agent', 'user'] },
        { format: 'nginx', file: 'json.log', shows: allOfNginx },
        { format: 'nginx', file: 'plain.log', shows: allOfNginx },
      ],
    },
    {
      port: forwarded,
      client: 'forwarded',
      logs: [
        { format: 'combined', file: 'forwarded.log', shows: ['agent', 'user'] },
        { format: 'nginx', file: 'forwarded-json.log', shows: ['agent', 'user', 'host'] },
      ],
    },
    {
      port: proxied,
      client: 'proxy protocol',
      logs: [{ format: 'nginx', file: 'proxied.log', shows: allOfNginx }],
    },
  ],
}

// --- Apache ---

const apacheModules = [
  'mpm_event',
  'authn_core',
  'authz_core',
  'authz_user',
  'auth_basic',
  'authn_anon',
  'remoteip',
]

const apache: LogProgram = {
  program: '/usr/sbin/apache2',
  logsRefused: true,
  start(dir, [peer, forwarded]) {
    mkdirSync(join(dir, 'htdocs'), { recursive: true })
    const host = (port: number | undefined, more: string): string =>
      `Listen 127.0.0.1:${port}\n<VirtualHost 127.0.0.1:${port}>\nServerName web.example\nUseCanonicalName Off\n${more}\n</VirtualHost>`
    writeFileSync(
      join(dir, 'apache.conf'),
      `ServerRoot "${dir}"
${apacheModules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
PidFile "${dir}/pid"
ErrorLog "${dir}/error.log"
DefaultRuntimeDir "${dir}"
ServerName web.example
DocumentRoot "${dir}/htdocs"
LimitRequestLine 64000
LimitRequestFieldSize 64000
LogFormat "%h %l %u %t \\"%r\\" %>s %b \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined
LogFormat "%V %h %l %u %t \\"%r\\" %>s %b \\"%{Referer}i\\" \\"%{User-Agent}i\\"" host
<Location />
AuthType Basic
AuthName any
AuthBasicProvider anon
Anonymous *
Anonymous_NoUserID on
Anonymous_MustGiveEmail off
Require valid-user
</Location>
${host(peer, `CustomLog "${dir}/combined.log" combined\nCustomLog "${dir}/host.log" host`)}
${host(forwarded, `RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.0/8\nCustomLog "${dir}/forwarded.log" combined`)}
`,
    )
    return spawned(dir, this.program, ['-DFOREGROUND', '-f', join(dir, 'apache.conf')])
  },
  entrances: ([peer = 0, forwarded = 0]) => [
    {
      port: peer,
      client: 'peer',
      logs: [
        { format: 'combined', file: 'combined.log', shows: ['agent', 'user'] },
        { format: 'combined', file: 'host.log', shows: ['agent', 'user', 'host'] },
      ],
    },
    {
      port: forwarded,
      client: 'forwarded',
      logs: [{ format: 'combined', file: 'forwarded.log', shows: ['agent', 'user'] }],
    },
  ],
}

// --- HAProxy ---

const haproxy: LogProgram = {
  program: '/usr/sbin/haproxy',
  logsRefused: true,
  start(dir, ports) {
    const [peer, forwarded, second, proxied] = ports
    const captures =
      'http-request capture req.hdr(Host) len 253\nhttp-request capture req.fhdr(User-Agent) len 300'
    const frontend = (port: number | undefined, more: string, options = ''): string =>
      `frontend web${port}\nbind 127.0.0.1:${port}${options}\n${more}\n${captures}\nhttp-request return status 200 content-type text/plain string x\n`
    writeFileSync(join(dir, 'certificate.pem'), fixturePem('rsa') + fixturePem('rsa.key'))
    writeFileSync(
      join(dir, 'haproxy.cfg'),
      // Of several threads that write to a file at once, one may drop its line (HAProxy: fd_write_frag_line).
      `global
nbthread 1
log stdout len 65535 format raw local0
tune.http.logurilen 16000
tune.bufsize 65536
defaults
mode http
log global
timeout client 30s
timeout server 30s
timeout connect 5s
option httplog
option dontlognull
option accept-invalid-http-request
${frontend(peer, '')}
${frontend(forwarded, 'http-request set-src hdr_ip(x-forwarded-for,-1)')}
${frontend(second, 'http-request set-src hdr_ip(x-forwarded-for,-2)')}
${frontend(proxied, 'option httpslog', ' accept-proxy')}
`,
    )
    return spawned(dir, this.program, ['-db', '-f', 'haproxy.cfg'], 'haproxy.log')
  },
  entrances: (ports) =>
    (['peer', 'forwarded', 'forwarded, the second from the end', 'proxy protocol'] as const).map(
      (client, index) => ({
        port: ports[index]!,
        client,
        logs: [
          {
            format: 'haproxy',
            file: 'haproxy.log',
            shows: client.startsWith('forwarded') ? ['host'] : ['host', 'port'],
          },
        ],
      }),
    ),
}

// --- Caddy ---

/** Times and durations in which Caddy writes. */
const caddyTimes = [
  ['unix_seconds_float', 'seconds'],
  ['unix_milli_float', 'nano'],
  ['unix_nano', 'string'],
  ['iso8601', 'seconds'],
  ['rfc3339', 'nano'],
  ['rfc3339_nano', 'string'],
  ['wall', 'seconds'],
  ['wall_milli', 'nano'],
  ['wall_nano', 'string'],
  ['common_log', 'seconds'],
] as const

const caddy: LogProgram = {
  program: '/usr/bin/caddy',
  logsRefused: false,
  start(dir, ports) {
    const site = (
      [time, duration]: readonly [string, string],
      index: number,
    ): string => `http://:${ports[index]} {
log {
output file "${dir}/${time}.log"
format json {
time_format ${time}
duration_format ${duration}
}
}
respond x 200
}`
    writeFileSync(
      join(dir, 'Caddyfile'),
      `{\nadmin off\nauto_https off\n}\n${caddyTimes.map(site).join('\n')}\n`,
    )
    return spawned(dir, this.program, ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'])
  },
  entrances: (ports) =>
    caddyTimes.map(([time], index) => ({
      port: ports[index]!,
      client: 'peer',
      logs: [{ format: 'caddy', file: `${time}.log`, shows: ['agent', 'host', 'port'] }],
    })),
}

export const logPrograms = { nginx, apache, haproxy, caddy }

const portsMax = 10

interface RunningProgram {
  readonly entrances: readonly Entrance[]
  /** The lines of this log so far, as `weir publish --file` cuts them. */
  readonly lines: (log: Log) => string[]
}

export const whyNot = ({ program }: LogProgram): string | false =>
  existsSync(program) ? false : `${program} is not installed`

export async function startProgram(t: Test, program: LogProgram): Promise<RunningProgram> {
  const dir = tempDir(t)
  const ports = await freePorts(portsMax)
  const child = program.start(dir, ports)
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let said = ''
  child.stderr?.on('data', (text) => (said += String(text)))
  t.teardown(async () => {
    child.kill()
    await ended
  })
  const entrances = program.entrances(ports)
  for (const { port } of entrances)
    await until('it serves', async () => {
      if (child.exitCode !== null) throw new Error(said)
      return isOpen(port)
    })
  const { isReady } = program
  if (isReady !== undefined) await until('it is ready', () => isReady(ports))
  const lines = ({ file }: Log): string[] => {
    const splitter = new LineSplitter()
    const path = join(dir, file)
    return existsSync(path) ? [...splitter.push(readFileSync(path))].map(({ text }) => text) : []
  }
  return { entrances, lines }
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
