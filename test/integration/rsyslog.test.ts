/**
 * Debian's rsyslog sends what it got, in each of its formats and framings, over UDP and TCP, and writes it to files:
 * `weir publish` reads the texts as they were.
 */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LineSplitter } from '../../src/delivery/ingest/lines/line-splitter.js'
import { headTime } from '../../src/delivery/ingest/lines/log-time.js'
import { LogEnvelopes } from '../../src/delivery/ingest/log-envelope.js'
import { SyslogServer } from '../../src/delivery/ingest/syslog/server.js'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'

const program = '/usr/sbin/rsyslogd'

const texts = [
  '{"remote_addr": "203.0.113.7", "status": "200", "http_user_agent": "a: b [c] {d}"}',
  '{"remote_addr":"203.0.113.7","request_uri":"/caf\u00e9?x=<1>"}',
  '[2026-04-15T20:17:00.310Z] "GET /a HTTP/2" 200 - 154 0 226 100 "203.0.113.7" "x: y" "id" "host" "10.0.2.1:80"',
]
const heads = [
  '<190>Nov 25 10:00:00 web nginx: ',
  '<190>Nov 25 10:00:00 web nginx[12]: ',
  '<190>Nov 25 10:00:00 nginx: ',
  '<190>1 2026-11-25T10:00:00.123456Z web nginx 12 - - ',
  '<190>1 2026-11-25T10:00:00.123456Z web nginx - - - ',
]
const withTag = heads.flatMap((head) => texts.map((text) => ({ message: `${head}${text}`, text })))
/**
 * Without a tag, rsyslog takes the text up to its first colon for one, and puts a space behind it: only JSON stays the same,
 * and not even that as RFC 5424, where the name of the program has no colon.
 */
const withoutTag = ['<190>Nov 25 10:00:00 web ', '<190>'].map((head) => ({
  message: `${head}${texts[0]}`,
  text: texts[0]!,
}))
const sentAs = (template: string) =>
  template === 'RSYSLOG_SyslogProtocol23Format' ? withTag : [...withTag, ...withoutTag]

const templates = [
  ...['RSYSLOG_TraditionalForwardFormat', 'RSYSLOG_ForwardFormat', 'RSYSLOG_SyslogProtocol23Format'],
]
const framings = {
  'octet counting': 'protocol="tcp" tcp_framing="octet-counted"',
  LF: 'protocol="tcp" tcp_framing="traditional"',
  NUL: 'protocol="tcp" tcp_framing="traditional" tcp_framedelimiter="0"',
  UDP: 'protocol="udp"',
}
const isTime = (loggedAt: string | undefined): boolean => headTime(loggedAt ?? '', Date.now()) !== undefined

interface Target {
  readonly template: string
  readonly name: string
  readonly got: readonly string[]
  /** As their heads say them. */
  readonly times: readonly (string | undefined)[]
  /** Its part of the configuration of rsyslog. */
  readonly action: string
}

const fileTemplates = ['RSYSLOG_FileFormat', 'RSYSLOG_TraditionalFileFormat']

t.test(
  'what rsyslog sends and writes',
  { skip: !existsSync(program) && 'there is no rsyslogd' },
  async (t) => {
    const dir = tempDir(t)
    const targets: Target[] = []
    for (const [framing, parameters] of Object.entries(framings))
      for (const template of templates) {
        const server = new SyslogServer({
          host: '127.0.0.1',
          port: 0,
          note: (text) => t.comment(text),
          lost: (count) => t.fail(`${count} are lost`),
        })
        const port = await server.open()
        const got: string[] = []
        const times: (string | undefined)[] = []
        void (async () => {
          for await (const { text, loggedAt } of server.lines()) {
            got.push(text)
            times.push(loggedAt)
          }
        })()
        t.teardown(() => server.close())
        const action = `action(type="omfwd" target="127.0.0.1" port="${port}" ${parameters} template="${template}")`
        targets.push({ template, name: `${template}, ${framing}`, got, times, action })
      }
    const input = await freePort()
    const files = fileTemplates.map((template) => ({ template, path: join(dir, template) }))
    const config = `global(workDirectory="${dir}" maxMessageSize="64k")
module(load="imudp")
input(type="imudp" address="127.0.0.1" port="${input}")
${targets.map(({ action }) => action).join('\n')}
${files.map(({ template, path }) => `action(type="omfile" file="${path}" template="${template}")`).join('\n')}
`
    writeFileSync(join(dir, 'rsyslog.conf'), config)
    const args = ['-n', '-f', join(dir, 'rsyslog.conf'), '-i', join(dir, 'pid')]
    const running = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    const ended = new Promise((resolve) => running.once('exit', resolve))
    t.teardown(async () => {
      running.kill('SIGTERM')
      await ended
    })
    const socket = createSocket('udp4')
    t.teardown(() => socket.close())
    const send = (message: string): void => socket.send(message, input, '127.0.0.1')
    const isFirst = (text: string): boolean => text.includes('are you there')
    await until('rsyslog', () => {
      send('<190>Nov 25 10:00:00 web nginx: are you there')
      return targets.every(({ got }) => got.some(isFirst))
    })
    for (const { message } of [...withTag, ...withoutTag]) send(message)
    const wantedAs = (template: string): string[] =>
      sentAs(template)
        .map(({ text }) => text)
        .toSorted()
    // Messages without a tag are the last of all.
    const seen = (lines: readonly string[], template: string): string[] =>
      lines
        .filter((text) => !isFirst(text))
        .slice(0, sentAs(template).length)
        .toSorted()
    for (const { name, template, got, times } of targets) {
      await until(name, () => seen(got, template).length === sentAs(template).length)
      t.strictSame(seen(got, template), wantedAs(template), name)
      t.strictSame(new Set(times.map(isTime)), new Set([true]), `${name}: all heads have a time`)
    }
    for (const { template, path } of files) {
      const all = () => {
        const envelopes = new LogEnvelopes()
        const lines = [...new LineSplitter().push(readFileSync(path))]
        return lines.flatMap((line) => [...envelopes.open(line)])
      }
      const read = (): string[] =>
        seen(
          all().map(({ text }) => text),
          template,
        )
      await until(template, () => read().length === sentAs(template).length)
      t.strictSame(read(), wantedAs(template), template)
      const times = all().map(({ loggedAt }) => isTime(loggedAt))
      t.strictSame(new Set(times), new Set([true]), `${template}: all heads have a time`)
    }
  },
)
