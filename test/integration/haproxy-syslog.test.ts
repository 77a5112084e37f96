/**
 * Debian's HAProxy sends its log by itself, in each of its formats, over UDP and in both framings over TCP: each line
 * becomes the record of its request.
 */
import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { haproxy } from '../../src/delivery/ingest/formats/haproxy.js'
import { recordOfLine } from '../../src/delivery/ingest/lines/format.js'
import { SyslogServer } from '../../src/delivery/ingest/syslog/server.js'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'

const program = '/usr/sbin/haproxy'

const formats = ['local', 'rfc3164', 'rfc5424', 'priority', 'short', 'timed', 'iso', 'raw']
const ways = ['udp', 'octet-count', 'legacy']

interface Target {
  readonly name: string
  readonly texts: readonly string[]
  readonly config: string
}

/** HAProxy would share a port that two frontends have. */
async function freshPort(taken: Set<number>): Promise<number> {
  for (;;) {
    const port = await freePort()
    if (!taken.has(port)) {
      taken.add(port)
      return port
    }
  }
}

function targetOf(
  server: SyslogServer,
  [port, bind]: readonly [number, number],
  format: string,
  way: string,
): Target {
  const texts: string[] = []
  void (async () => {
    for await (const { text } of server.lines()) texts.push(text)
  })()
  const ring = `ring r-${format}-${way}
  format ${format}
  maxlen 4000
  size 65536
  timeout connect 5s
  timeout server 10s
  server s 127.0.0.1:${port} log-proto ${way}
`
  const log = way === 'udp' ? `127.0.0.1:${port}` : `ring@r-${format}-${way}`
  // A message has one format: that of its own frontend.
  const frontend = `frontend ${format}-${way}
  bind 127.0.0.1:${bind}
  http-request capture req.hdr(host) len 50
  log ${log} format ${format} local0
  http-request return status 204
`
  return { name: `${format}, ${way}`, texts, config: way === 'udp' ? frontend : `${ring}${frontend}` }
}

const portOf = ({ config }: Target): string => /bind 127\.0\.0\.1:(\d+)/.exec(config)![1]!

const readOf = ({ texts }: Target): unknown[] =>
  texts.map((text) => {
    const made = recordOfLine(haproxy, { text }, {}, 'r-1')
    if (!made.ok) return made.problem
    const { conn, http } = JSON.parse(made.value)
    return [conn.client_ip, conn.server_name, http.request.url.raw, http.response.status_code]
  })

t.test('what HAProxy sends', { skip: !existsSync(program) && 'there is no haproxy' }, async (t) => {
  const dir = tempDir(t)
  const opened: { server: SyslogServer; port: number; format: string; way: string }[] = []
  for (const format of formats)
    for (const way of ways) {
      const server = new SyslogServer({
        host: '127.0.0.1',
        port: 0,
        note: (text) => t.comment(text),
        lost: (count) => t.fail(`${count} are lost`),
      })
      t.teardown(() => server.close())
      opened.push({ server, port: await server.open(), format, way })
    }
  const taken = new Set<number>()
  const targets: Target[] = []
  for (const { server, port, format, way } of opened)
    targets.push(targetOf(server, [port, await freshPort(taken)], format, way))
  const defaults = `defaults
  mode http
  option httplog
  timeout connect 5s
  timeout client 5s
  timeout server 5s
`
  const path = join(dir, 'haproxy.cfg')
  writeFileSync(path, `${defaults}${targets.map(({ config }) => config).join('')}`)
  const running = spawn(program, ['-db', '-f', path], { stdio: 'ignore' })
  const ended = new Promise((resolve) => running.once('exit', resolve))
  t.teardown(async () => {
    running.kill('SIGTERM')
    await ended
  })
  const ask = (target: Target, what: string): Promise<number | undefined> =>
    fetch(`http://127.0.0.1:${portOf(target)}${what}`).then(
      ({ status }) => status,
      () => undefined,
    )
  for (const target of targets) {
    // Connections of rings are opened in the background.
    await until(target.name, async () => (await ask(target, '/first')) === 204 && target.texts.length > 0)
    const wanted = ['/a/b?c=1', '/d?%20{e}|f']
    for (const what of wanted) await ask(target, what)
    const isWanted = (read: unknown): boolean => !JSON.stringify(read).includes('/first')
    await until(`all of ${target.name}`, () => readOf(target).filter(isWanted).length >= wanted.length)
    // Of two threads, the second may write first.
    t.strictSame(
      readOf(target).filter(isWanted).toSorted(),
      wanted.map((what) => ['127.0.0.1', '127.0.0.1', what, 204]),
      `${target.name}: ${target.texts.at(-1)}`,
    )
  }
})
