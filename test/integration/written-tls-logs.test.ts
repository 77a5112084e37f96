/** Logs with TLS, connections, cookies or accounts: those of HAProxy, nginx and Caddy become what was sent. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestOptions } from 'node:http'
import { request as requestTls } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { formats } from '../../src/delivery/ingest/formats.js'
import { recordOfLine } from '../../src/delivery/ingest/lines/format.js'
import { fixturePem } from '../harness/certificates.js'
import { type LogProgram, logPrograms, spawned, startProgram, whyNot } from '../harness/log-programs.js'
import { configuredNginx } from '../harness/nginx-file.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'

/** The record of a line, and the line for messages. */
function recordOf(format: string, line: string): object {
  const made = recordOfLine(formats.find(({ name }) => name === format)!, { text: line }, {}, 'r-1')
  return made.ok ? JSON.parse(made.value) : { refused: made.problem.msg, line }
}

// --- certificates of clients ---

/** In the syntax of `openssl req -subj`, where a slash begins a member. */
const subjects = [
  { subject: '/O=x/CN=device-1', cn: 'device-1' },
  { subject: '/O=x/CN=Doe, John', cn: 'Doe, John' },
  { subject: '/O=x, CN=no/CN=a \\+ b = "c" <d>;e', cn: 'a + b = "c" <d>;e' },
  { subject: '/O=x/CN=caf\u00e9 \u20ac', cn: 'caf\u00e9 \u20ac' },
  { subject: '/O=x/CN=#1 ', cn: '#1 ' },
  { subject: '/O=x/CN= leading', cn: ' leading' },
  { subject: '/O=x/CN=back\\\\slash', cn: 'back\\slash' },
  { subject: '/O=x/CN=a\\/CN=b', cn: 'a/CN=b' },
  { subject: '/O=x/CN=both+UID=7', cn: 'both' },
  { subject: '/O=x/CN=group/CN=device', cn: 'device' },
  { subject: '/O=x', cn: undefined },
]

function clientCertificates(
  dir: string,
): readonly { readonly cert: Buffer; readonly cn: string | undefined }[] {
  return subjects.map(({ subject, cn }, index) => {
    const file = join(dir, `client-${index}.pem`)
    const key = 'fixtures/certificates/ecdsa.key.pem'
    const args = ['req', '-x509', '-utf8', '-key', key, '-subj', subject, '-days', '2', '-out', file]
    execFileSync('openssl', args, { stdio: 'pipe' })
    return { cert: readFileSync(file), cn }
  })
}

/** One request on a connection of its own. */
const ask = (options: RequestOptions & { cert?: Buffer; key?: string; servername?: string }): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = requestTls(
      { host: '127.0.0.1', agent: false, rejectUnauthorized: false, ...options },
      (answer) => answer.resume().once('end', resolve),
    )
    sent.once('error', reject).end()
  })

const nginxWithTls: LogProgram = {
  ...logPrograms.nginx,
  start(dir, [port]) {
    writeFileSync(join(dir, 'certificate.pem'), fixturePem('rsa'))
    writeFileSync(join(dir, 'key.pem'), fixturePem('rsa.key'))
    const common = '"remote_addr":"$remote_addr","request":"$request","ssl_protocol":"$ssl_protocol"'
    const args = configuredNginx(
      dir,
      `log_format json escape=json '{${common},"ssl_client_s_dn":"$ssl_client_s_dn"}';
log_format plain '{${common},"ssl_client_s_dn":"$ssl_client_s_dn"}';
log_format legacy escape=json '{${common},"ssl_client_s_dn_legacy":"$ssl_client_s_dn_legacy"}';
server {
listen 127.0.0.1:${port} ssl; ssl_certificate certificate.pem; ssl_certificate_key key.pem; ssl_verify_client optional_no_ca;
access_log json.log json; access_log plain.log plain; access_log legacy.log legacy;
location / { return 200 x; }
}`,
    )
    return spawned(dir, this.program, args)
  },
  entrances: ([port = 0]) => [
    {
      port,
      client: 'peer',
      logs: ['json.log', 'plain.log', 'legacy.log'].map((file) => ({ format: 'nginx', file, shows: [] })),
    },
  ],
}

t.test('nginx: names of certificates, in each form', { skip: whyNot(nginxWithTls) }, async (t) => {
  const clients = clientCertificates(tempDir(t))
  const { entrances, lines } = await startProgram(t, nginxWithTls)
  const [{ port, logs } = { port: 0, logs: [] }] = entrances
  const key = fixturePem('ecdsa.key')
  for (const { cert } of clients) await ask({ port, cert, key })
  for (const log of logs) {
    await until('all are logged', () => lines(log).length >= clients.length)
    for (const [index, { cn }] of clients.entries())
      t.match(
        recordOf('nginx', lines(log)[index]!),
        { tls: { version: /^TLSv1\./, client_cert: { subject: { cn } } } },
        `${log.file}: ${subjects[index]!.subject}`,
      )
  }
})

// --- HAProxy ---

/** Answers anything. */
async function application(t: Test): Promise<number> {
  const server = createServer((_, response) => response.end('served')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Of `tcpmux`, which no machine serves: connections are refused. */
const closed = 1

const haproxyOf = (app: number): LogProgram => ({
  ...logPrograms.haproxy,
  start(dir, [cookies, tls, tcp, early, plain]) {
    writeFileSync(join(dir, 'certificate.pem'), fixturePem('rsa') + fixturePem('rsa.key'))
    writeFileSync(
      join(dir, 'haproxy.cfg'),
      `global
nbthread 1
log stdout len 65535 format raw local0
defaults
mode http
log global
timeout client 10s
timeout server 10s
timeout connect 1s
timeout tarpit 50ms
retries 2
option redispatch
option dontlognull
frontend cookies
bind 127.0.0.1:${cookies}
option httplog
capture cookie SRV len 63
capture request header Host len 60
capture request header User-Agent len 60
capture response header Server len 20
default_backend closed
frontend tls
bind 127.0.0.1:${tls} ssl crt certificate.pem alpn h2,http/1.1
option httpslog
http-request deny if { path /deny }
http-request tarpit if { path /tarpit }
http-request redirect location /x if { path /redirect }
http-request return status 200
frontend tcp
bind 127.0.0.1:${tcp}
mode tcp
option tcplog
default_backend tcp
frontend early
bind 127.0.0.1:${early}
mode tcp
option tcplog
option logasap
default_backend tcp
frontend plain
bind 127.0.0.1:${plain}
option httpslog
option logasap
default_backend app
backend closed
server a 127.0.0.1:${closed}
server b 127.0.0.1:${closed}
backend tcp
mode tcp
server app 127.0.0.1:${app}
backend app
server app 127.0.0.1:${app}
`,
    )
    return spawned(dir, this.program, ['-db', '-f', 'haproxy.cfg'], 'haproxy.log')
  },
  entrances: (ports) =>
    ports.slice(0, 5).map((port) => ({
      port,
      client: 'peer',
      logs: [{ format: 'haproxy', file: 'haproxy.log', shows: [] }],
    })),
})

const lineEnd = '\r\n'
const requestText = (...headers: readonly string[]): string =>
  ['GET /page?q HTTP/1.1', 'Host: web.example:8080', 'Connection: close', ...headers, '', ''].join(lineEnd)

/** Sends bytes, and resolves when the server has closed the connection. */
const sendRaw = (port: number, text: string): Promise<number> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    let from = 0
    socket.once('connect', () => {
      from = socket.localPort ?? 0
      socket.write(text, 'latin1')
    })
    socket.resume()
    socket.on('error', () => {})
    socket.once('close', () => resolve(from))
  })

/** A client writes into its cookie what the rest of a line looks like. */
const cookies = [
  'SRV=plain',
  'SRV=a b"c',
  'SRV=- ---- 1/1/0/0/0 0/0 {evil.example|} {} "GET /evil HTTP/1.1"',
  'SRV=#{}|\u00e9',
]

t.test(
  'HAProxy: cookies, connections, early lines, and what was refused',
  { skip: whyNot(logPrograms.haproxy) },
  async (t) => {
    const program = haproxyOf(await application(t))
    const { entrances, lines } = await startProgram(t, program)
    const [cookie = 0, tls = 0, tcp = 0, early = 0, plain = 0] = entrances.map(({ port }) => port)
    const [log] = entrances[0]!.logs
    const read = async (from: number): Promise<object> => {
      const isOurs = (line: string): boolean => line.startsWith(`127.0.0.1:${from} `)
      await until('the line is there', () => lines(log!).some(isOurs))
      return recordOf('haproxy', lines(log!).find(isOurs)!)
    }
    const asked = { conn: { client_ip: '127.0.0.1', server_name: 'web.example', server_port: 8080 } }
    const url = { path: '/page', query: 'q', raw: '/page?q' }
    for (const each of cookies) {
      const record = await read(
        await sendRaw(cookie, requestText(`Cookie: ${each}`, 'User-Agent: a {b} | "c" #')),
      )
      t.match(
        record,
        { ...asked, http: { request: { method: 'GET', url }, response: { status_code: 503 } } },
        each,
      )
    }
    const connection = await read(await sendRaw(tcp, requestText()))
    t.match(connection, { type: 'tcp_connection', conn: { client_ip: '127.0.0.1', end_ts: /^2/ } })
    t.ok((connection as { conn: { bytes_out: number } }).conn.bytes_out > 0, 'bytes of a connection')
    t.match(await read(await sendRaw(early, requestText())), {
      type: 'tcp_connection',
      conn: { bytes_out: 0 },
    })
    t.match(await read(await sendRaw(plain, requestText())), {
      http: { request: { url }, response: { status_code: 200 } },
    })
    const badRequest = await read(await sendRaw(plain, `\x16\x03 x${lineEnd}${lineEnd}`))
    t.match(badRequest, {
      http: { request: { method: undefined, url: { raw: undefined } }, response: { status_code: 400 } },
    })
    const before = lines(log!).length
    const names = [
      'a.example',
      'a b/TLSv1.3/X" "GET',
      '\u00e9.example',
      'x LR-- 1/1/0/0/0 0/0 "GET /evil HTTP/1.1" 0/0/0/0/0 y',
    ]
    for (const servername of names) await ask({ port: tls, servername, path: '/true' })
    for (const path of ['/deny', '/tarpit', '/redirect'])
      await ask({ port: tls, path, servername: 'a.example' })
    await until('they are logged', () => lines(log!).length >= before + names.length + 3)
    const records = lines(log!)
      .slice(before)
      .map((line) => recordOf('haproxy', line))
    for (const [index, name] of names.entries())
      t.match(
        records[index],
        {
          conn: { server_name: name },
          http: { request: { url: { raw: '/true' } } },
          tls: { version: 'TLSv1.3', cipher_suite: /^TLS_AES/ },
        },
        name,
      )
    for (const [index, status_code] of [403, 500, 302].entries())
      t.match(records[names.length + index], { http: { response: { status_code } } }, String(status_code))
  },
)

// --- Caddy ---

/** `secret`, in bcrypt of the lowest cost. */
const hash = '$2a$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW'
const users = ['alice', 'J\u00fcrgen "x" \\ [y]', 'a\u0001b']

const caddyWithUsers: LogProgram = {
  ...logPrograms.caddy,
  start(dir, [port]) {
    const account = (username: string): object => ({
      username,
      password: Buffer.from(hash).toString('base64'),
    })
    const hashes = { http_basic: { accounts: users.map(account), hash: { algorithm: 'bcrypt' } } }
    const handle = [
      { handler: 'authentication', providers: hashes },
      { handler: 'static_response', body: 'x' },
    ]
    const web = {
      listen: [`127.0.0.1:${port}`],
      automatic_https: { disable: true },
      routes: [{ handle }],
      logs: {},
    }
    const access = {
      writer: { output: 'file', filename: join(dir, 'access.log') },
      encoder: { format: 'json' },
      include: ['http.log.access'],
    }
    const config = {
      admin: { disabled: true },
      logging: { logs: { access } },
      apps: { http: { servers: { web } } },
    }
    writeFileSync(join(dir, 'caddy.json'), JSON.stringify(config))
    return spawned(dir, this.program, ['run', '--config', 'caddy.json'])
  },
  entrances: ([port = 0]) => [
    { port, client: 'peer', logs: [{ format: 'caddy', file: 'access.log', shows: ['user'] }] },
  ],
}

t.test('Caddy: names of users', { skip: whyNot(caddyWithUsers) }, async (t) => {
  const { entrances, lines } = await startProgram(t, caddyWithUsers)
  const [{ port, logs } = { port: 0, logs: [] }] = entrances
  for (const user of users) {
    const credentials = Buffer.from(`${user}:secret`).toString('base64')
    await sendRaw(port, requestText(`Authorization: Basic ${credentials}`))
  }
  await until('all are logged', () => lines(logs[0]!).length >= users.length)
  for (const [index, username] of users.entries())
    t.match(
      recordOf('caddy', lines(logs[0]!)[index]!),
      {
        basic_auth: { username },
        http: { response: { status_code: 200 } },
        conn: { server_name: 'web.example', server_port: 8080 },
      },
      JSON.stringify(username),
    )
})
