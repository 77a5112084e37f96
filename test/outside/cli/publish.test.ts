/** `weir publish`: killed, rotated, refused, without NATS for a time. Nothing is missing, and a repeat has the same id. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { recordsStream, recordsSubjects } from '../../harness/first-partition.js'
import { compiled, runWithInput } from '../../harness/processes.js'
import { lineOf, linesOf, openPublishing, stored } from '../../harness/published-log.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

t.test('a file: killed again and again, and rotated', async (t) => {
  const { nats, dir, start } = await openPublishing(t)
  const path = join(dir, 'access.log')
  writeFileSync(path, '')
  const args = ['--file', path, '--node', 'n1', '--server-name', 'www.example.com']
  const kills = process.argv.includes('--full') ? 20 : 3
  let written = 0
  for (let kill = 0; kill < kills; kill += 1) {
    const running = start(...args)
    for (let n = 0; n < 5; n += 1) {
      appendFileSync(path, linesOf(written, 300))
      written += 300
      await sleep(Math.random() * 300)
      if (n === 2 && kill % 2 === 1) renameSync(path, `${path}.${kill}`)
    }
    await until('some are stored', async () => (await stored(nats)).length > kill * 300)
    await running.kill()
  }
  const running = start(...args)
  appendFileSync(path, linesOf(written, 300))
  written += 300
  const paths = async () => new Set((await stored(nats)).map(({ http }) => http.request.url.path))
  await until('all are stored', async () => (await paths()).size === written)
  t.equal((await running.stop()).code, 0)
  const records = await stored(nats)
  t.equal(new Set(records.map(({ record_id }) => record_id)).size, written, 'a repeat has the same id')
  t.ok(records.every(({ conn }) => conn.server_name === 'www.example.com'))
  const count = (await stored(nats)).length
  const again = start(...args)
  appendFileSync(path, lineOf(written))
  await until('the new line', async () => (await stored(nats)).length > count)
  await again.stop()
  t.equal((await stored(nats)).length, count + 1, 'after a stop, nothing is repeated')
})

t.test("a container's log: stopped between the parts of a line", async (t) => {
  const { nats, dir, start } = await openPublishing(t)
  const path = join(dir, '0.log')
  const cri = (tag: string, text: string): string => `2026-11-25T10:00:00.123456789Z stdout ${tag} ${text}\n`
  const [first, last] = [lineOf(2).slice(0, 50), lineOf(2).slice(50).trimEnd()]
  writeFileSync(path, `${cri('F', lineOf(0).trimEnd())}${cri('F', lineOf(1).trimEnd())}${cri('P', first)}`)
  const args = ['--file', path, '--node', 'n1', '--server-name', 'www.example.com']
  const paths = async () => (await stored(nats)).map(({ http }) => http.request.url.path)
  const running = start(...args)
  await until('the whole ones', async () => (await paths()).length === 2)
  t.equal((await running.stop()).code, 0)
  const again = start(...args)
  appendFileSync(path, cri('F', last))
  await until('the other one', async () => (await paths()).length === 3)
  await again.stop()
  t.strictSame(await paths(), ['/0', '/1', '/2'])
})

t.test('standard input: refused lines are counted, shown and kept', async (t) => {
  const { nats, server, dir, start } = await openPublishing(t)
  const bad = ['bad line', `${'x'.repeat(300_000)}`]
  const rejects = join(dir, 'rejects')
  for (const kept of [true, false]) {
    const running = start('--json', '--server-name', 'a.example', ...(kept ? ['--rejects', rejects] : []))
    const before = (await stored(nats)).length
    running.child.stdin!.write(lineOf(0))
    await until('it reads', async () => (await stored(nats)).length > before)
    server.freeze()
    running.child.stdin!.write(`${linesOf(1, 249)}${bad[0]}\n${bad[1]}\n\n`)
    await until('all is read', () => /Line 25[12] is refused/.test(running.output()))
    server.thaw()
    running.child.stdin!.end(lineOf(250).trimEnd())
    t.equal((await running.ended).code, kept ? 0 : 1, 'the exit code says whether lines are lost')
    t.match(running.output(), /253 lines: 251 records stored, 2 refused/)
    t.match(
      running.output(),
      /^\{"format":"combined","read":253,"stored":251,"refused":2,"reasons":\[\{"reason":"It .*"first_line":25[12]/m,
    )
    t.match(running.output(), /Line 25[12] is refused: It /)
  }
  t.equal((await stored(nats)).length, 502)
  t.match(readFileSync(rejects, 'utf8'), /^bad line\nx{1000}/)
})

t.test('messages are part of a trace that is given, and a malformed one is refused', async (t) => {
  const { nats, start } = await openPublishing(t)
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const running = start('--server-name', 'a.example', '--traceparent', traceparent)
  // The second message is compressed, and has a header for that, too.
  for (const lines of [lineOf(0), linesOf(1, 200)]) running.child.stdin!.write(lines)
  running.child.stdin!.end()
  t.equal((await running.ended).code, 0)
  let from = 1
  for (;;) {
    const message = await nats.nextMessage(recordsStream, recordsSubjects, from)
    if (message === undefined) break
    t.equal(message.headers.get('traceparent'), traceparent)
    from = message.sequence + 1
  }
  t.equal((await stored(nats)).length, 201)
  for (const malformed of [
    'x',
    traceparent.toUpperCase(),
    traceparent.replace(/-4.*-0/, `-${'0'.repeat(32)}-0`),
  ]) {
    const refused = start('--server-name', 'a.example', '--traceparent', malformed)
    t.equal((await refused.ended).code, 2, malformed)
    t.match(refused.output(), `--traceparent is "${malformed}"; it must be as 00-`)
  }
})

t.test('a sample is read, and nothing is sent', async (t) => {
  const dir = tempDir(t)
  const path = join(dir, 'sample.log')
  const wrong = '203.0.113.7 - - [40/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1'
  writeFileSync(path, `${linesOf(0, 5)}\n${wrong}\n${wrong.replace('40', '41')}\nbad line\n`)
  // There is no NATS.
  const env = { NATS_URL: `nats://127.0.0.1:${await freePort()}` }
  const check = async (...args: string[]) => {
    const running = runWithInput(
      'programs/main.js',
      ['publish', '--format', 'combined', '--check', ...args],
      env,
    )
    if (args[0] === '--json') running.child.stdin!.end(linesOf(0, 2))
    return { code: (await running.ended).code, output: running.output() }
  }
  const shown = await check(path)
  t.equal(shown.code, 1)
  t.match(shown.output, /Line 1 becomes:\n +\{\n +"record_id": "line-1"/)
  t.match(
    shown.output,
    /combined: 8 lines, 5 become records, 3 are refused\.\n {2}2 lines, the first is line 7, column 18: "conn\.start_ts" is "40\/Oct/,
  )
  t.match(shown.output, /Line 7:\n {2}203\.0\.113\.7 - - \[40\/Oct.*\n {19}\^/)
  t.match(
    shown.output,
    /\n {2}5 records, the first of line 1: It names no server and no edge.*give --server-name or --edge\.\nNothing was sent\./,
  )
  t.match(await check('--json', '--server-name', 'a.example'), {
    code: 0,
    output:
      /^\{"format":"combined","read":2,"records":2,"refused":0,"reasons":\[\],"doubts":\[\],"examples":\[\{"line":1,"record":\{/,
  })
  t.match(await check(join(dir, 'none')), { code: 1, output: /none can't be read/ })
})

t.test('a format is its declaration, and a place in the list', async (t) => {
  const { nats, server, dir } = await openPublishing(t)
  const env = {
    NATS_URL: server.url,
    WEIR_DATA_DIR: dir,
    NODE_OPTIONS: `--import=${pathToFileURL(compiled('test/outside/cli/added-format.js')).href}`,
  }
  const list = runWithInput('src/main.js', ['publish', '--format', 'list'], env)
  await list.ended
  t.match(list.output(), /^nginx .*^words +an address and a path$/ms)
  const asJson = runWithInput('src/main.js', ['publish', '--format', 'list', '--json'], env)
  await asJson.ended
  t.match(
    asJson
      .output()
      .split('\n')
      .map((line) => JSON.parse(line))
      .at(-1),
    { name: 'words' },
  )
  const running = runWithInput('src/main.js', ['publish', '--format', 'words'], env)
  running.child.stdin!.end('203.0.113.7 /a\n')
  t.equal((await running.ended).code, 0)
  t.match(await stored(nats), [
    {
      conn: { client_ip: '203.0.113.7', server_name: 'words.example' },
      http: { request: { url: { path: '/a' } } },
    },
  ])
})

t.test('a stop while NATS is away ends in time, and says what is not stored', async (t) => {
  const { nats, server, dir, start } = await openPublishing(t)
  const running = start('--server-name', 'a.example', '--rejects', join(dir, 'rejects'))
  running.child.stdin!.write(lineOf(0))
  await until('it reads', async () => (await stored(nats)).length === 1)
  server.freeze()
  // Its rest is not read.
  running.child.stdin!.on('error', () => {})
  running.child.stdin!.write(`${linesOf(1, 100)}bad line\n${linesOf(101, 4_900)}`)
  await running.line(/Line 102 is refused/)
  running.child.kill('SIGTERM')
  t.equal((await running.ended).code, 1)
  t.match(running.output(), /not stored: NATS does not store them/)
  server.thaw()
  let attempts = 0
  const absent = createServer((socket) => {
    attempts += 1
    socket.destroy()
  })
  t.teardown(() => absent.close())
  await once(absent.listen(0, '127.0.0.1'), 'listening')
  const early = runWithInput('programs/main.js', ['publish', '--format', 'combined'], {
    NATS_URL: `nats://127.0.0.1:${(absent.address() as AddressInfo).port}`,
  })
  await until('it looks for NATS', () => attempts > 0)
  early.child.kill('SIGTERM')
  t.equal((await early.ended).code, 1)
  t.match(early.output(), /Stopped before NATS answered/)
})

t.test('what a person must know while nothing happens', async (t) => {
  const { nats, server, dir, start } = await openPublishing(t)
  const absent = start('--file', join(dir, 'later.log'))
  await absent.line(/later\.log does not exist yet: it is waited for/)
  await absent.stop()
  const nameless = start()
  nameless.child.stdin!.write(lineOf(0))
  await nameless.line(/Line 1: It names no server and no edge, so no edge serves it/)
  await until('it is stored', async () => (await stored(nats)).length === 1)
  server.freeze()
  nameless.child.stdin!.write(lineOf(1))
  await nameless.line(/Records wait for NATS, which has stored none for 5 s/)
  server.thaw()
  nameless.child.stdin!.end()
  t.equal((await nameless.ended).code, 0)
  const early = runWithInput('programs/main.js', ['publish', '--format', 'combined'], {
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
  })
  t.teardown(() => early.kill())
  await early.line(/NATS does not answer yet/)
})

t.test('syslog over UDP that no one stores is counted as lost', async (t) => {
  const { server, start } = await openPublishing(t)
  const port = await freePort()
  const running = start('--syslog', String(port), '--server-name', 'a.example', '--json')
  await until('it listens', () => running.output().includes('Syslog is taken'))
  server.freeze()
  const socket = createSocket('udp4')
  t.teardown(() => socket.close())
  const message = `<134>1 2026-11-25T10:00:00Z host app - - - ${lineOf(0).trimEnd()}`
  let sent = 0
  await until('some are lost', async () => {
    for (let n = 0; n < 2_000; n += 1) socket.send(message, port, '127.0.0.1')
    sent += 2_000
    return running.output().includes('messages over UDP were lost')
  })
  server.thaw()
  t.equal((await running.stop()).code, 1, `${sent} were sent`)
  t.match(running.output(), /"lost":\d+\}$/m)
})

t.test('syslog over TCP', async (t) => {
  const { nats, start } = await openPublishing(t)
  const port = await freePort()
  const running = start('--syslog', String(port), '--server-name', 'a.example')
  await until('it listens', () => running.output().includes('Syslog is taken'))
  const socket = connect(port, '127.0.0.1')
  for (let n = 0; n < 500; n += 1) {
    const message = `<134>1 2026-11-25T10:00:00Z host app - - - ${lineOf(n).trimEnd()}`
    socket.write(n % 2 === 0 ? `${message}\n` : `${Buffer.byteLength(message)} ${message}`)
  }
  socket.end()
  await until('all are stored', async () => (await stored(nats)).length === 500)
  t.equal((await running.stop()).code, 0)
})

t.test('wrong options are named', async (t) => {
  const { dir, start } = await openPublishing(t)
  writeFileSync(join(dir, 'position'), 'x')
  const wrong = [
    [['--format', 'apache'], /There is no format "apache": nginx, haproxy/],
    [['--file', 'x', '--syslog', '1'], /two sources/],
    [['--syslog', 'here'], /--syslog is "here"/],
    [['--server-port', '0'], /--server-port is "0"/],
    [['--caddy-duration', 'hours'], /--caddy-duration is "hours"; it must be one of seconds, ms, nano/],
    [['--server-name', 'a b'], /--server-name is "a b"; it must be a name or an address/],
    [['--edge', 'foo'], /--edge is "foo"; it must be the id of an edge/],
    [['--from-end'], /belong to --file/],
    [['--file', dir], /is not a file/],
    [['--file', 'x', '--position', join(dir, 'position')], /not a position file/],
    [['--rejects', join(dir, 'no', 'dir')], /--rejects .* can't be written/],
  ] as const
  await Promise.all(
    wrong.map(async ([args, says]) => {
      const running = start(...args)
      t.not((await running.ended).code, 0)
      t.match(running.output(), says)
    }),
  )
})
