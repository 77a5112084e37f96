import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '@nats-io/transport-node'
import t from 'tap'
import { readUserUrl } from '../../../src/delivery/nats-server/logins.js'
import type { NatsAccess } from '../../../src/delivery/nats-server/nats-access.js'
import { freePort, isPortFree, readGreeting } from '../../../src/delivery/nats-server/nats-probe.js'
import { openNatsServer } from '../../../src/delivery/nats-server/nats-server.js'
import { stderrBytesMax } from '../../../src/delivery/nats-server/nats-stderr.js'
import { processStart } from '../../../src/delivery/nats-server/process-start.mjs'
import { sleep } from '../../../src/ground/core/clock.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { outdatedBecause } from '../../../src/ground/nats/server-versions.js'
import { localNatsServer } from '../../../src/management/process/settings.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

const gibibyte = 1024 ** 3

const access: NatsAccess = {
  streamsOf: 'HOME',
  accounts: { HOME: { jetstream: 'enabled', users: [{ name: 'one' }, { name: 'two' }] } },
}

const optionsOf = (
  dataDir: string,
  port = 0,
  registry = createRegistry(),
  logger = createLogger('test', 'silent'),
) => ({
  executable: localNatsServer(),
  environment: { ...process.env, MARK: 'here' },
  dataDir,
  port,
  storageMaxBytes: 8 * gibibyte,
  access,
  occurrences: createOccurrences({ logger, registry }),
})

const open = (...options: Parameters<typeof optionsOf>) => openNatsServer(optionsOf(...options))

function loggedLines() {
  const lines: { readonly msg: string }[] = []
  const write = (line: string) => lines.push(JSON.parse(line))
  return { lines, logger: createLogger('test', 'info', { write }) }
}

const kept = (dataDir: string): { pid: number; start: string; port: number } =>
  JSON.parse(readFileSync(join(dataDir, 'nats', 'server.json'), 'utf8'))

/** This file is also the program of a Weir that gets killed. */
if (process.argv[2] === 'owner') {
  const server = await open(process.argv[3] ?? '')
  process.stdout.write(`${server.port}\n`)
} else {
  t.test('a server starts, answers on loopback, and has ended after close', async (t) => {
    const dir = join(tempDir(t), 'a directory with "spaces"')
    const server = await open(dir)
    const { pid, start } = kept(dir)
    t.match(server.urlOf('one'), new RegExp(`^nats://one:[\\w-]{32}@127\\.0\\.0\\.1:${server.port}$`))
    t.ok(server.isUp())
    t.match(await readGreeting(server.port), { server_name: /^weir-/ })
    const environ = `/proc/${pid}/environ`
    if (existsSync(environ)) t.match(readFileSync(environ, 'utf8'), /MARK=here/, 'its environment')
    t.equal(processStart(pid), start, 'the number kept is that of the server itself')
    t.equal(statSync(join(dir, 'nats', 'server.conf')).mode & 0o777, 0o600)
    t.ok(statSync(join(dir, 'nats', 'store', 'jetstream')).isDirectory(), 'JetStream has its store there')
    await server.close()
    t.equal(processStart(pid), undefined)
    t.notOk(server.isUp())
    t.ok(await isPortFree(server.port))
  })

  t.test('syncing before each acknowledgement needs a server that can do it', async (t) => {
    const dir = tempDir(t)
    const dataDir = join(dir, 'data')
    for (const [says, named] of [
      ['nats-server: v2.9.10', '2.9.10'],
      ['', 'of an unknown version'],
    ] as const) {
      const executable = join(dir, `old-${named}`)
      writeFileSync(executable, `#!/bin/sh\necho "${says}"\n`, { mode: 0o700 })
      const message = `WEIR_NATS_SYNC=always needs nats-server 2.10.0 or newer, and ${executable} is ${named}. Put a current one on PATH, or remove the setting.`
      await t.rejects(openNatsServer({ ...optionsOf(dataDir), executable, syncsAlways: true }), { message })
    }
    t.notOk(existsSync(dataDir), 'nothing was started')
  })

  t.test('a server that syncs before each acknowledgement', async (t) => {
    const dir = tempDir(t)
    const opened = await openNatsServer({ ...optionsOf(dir), syncsAlways: true }).catch(
      (error: Error) => error,
    )
    if (opened instanceof Error) return void t.match(opened.message, /^WEIR_NATS_SYNC=always needs/)
    t.teardown(() => opened.close())
    const { jetstream } = JSON.parse(readFileSync(join(dir, 'nats', 'server.conf'), 'utf8'))
    t.equal(jetstream.sync_interval, 'always', 'a server does not start with a setting that it does not know')
  })

  t.test('only its users may connect, by passwords that stay', async (t) => {
    const dir = tempDir(t)
    const server = await open(dir)
    const urls = ['one', 'two'].map((user) => server.urlOf(user))
    for (const user of ['one', 'two']) {
      const path = join(dir, 'nats', 'users', user)
      t.equal(readFileSync(path, 'utf8'), `${server.urlOf(user)}\n`)
      t.equal(statSync(path).mode & 0o777, 0o600, 'its owner alone can read it')
    }
    t.not(new URL(urls[0]!).password, new URL(urls[1]!).password)
    for (const url of urls) await (await connect({ port: server.port, ...credentials(url) })).close()
    const { port } = server
    for (const credentials of [{}, { user: 'one', pass: 'guessed' }, { user: 'three', pass: '' }])
      await t.rejects(connect({ port, ...credentials, maxReconnectAttempts: 0 }), /Authorization/)
    const commandLine = readFileSync(`/proc/${kept(dir).pid}/cmdline`, 'latin1')
    for (const url of urls) t.notMatch(commandLine, new URL(url).password)
    await server.close()
    const again = await open(dir)
    t.strictSame(
      ['one', 'two'].map((user) => again.urlOf(user)),
      urls,
    )
    await again.close()
    writeFileSync(join(dir, 'nats', 'users', 'one'), 'damaged')
    const mended = await open(dir)
    t.not(mended.urlOf('one'), urls[0], 'a damaged file is made again')
    t.equal(readUserUrl(join(dir, 'nats'), 'one'), mended.urlOf('one'))
    t.equal(mended.urlOf('two'), urls[1])
    await mended.close()
  })

  t.test('a store from before there were users is kept', async (t) => {
    const dir = tempDir(t)
    const before = new OwnNats(join(dir, 'nats', 'store'))
    await before.start()
    const nats = await openNats({ servers: [before.url], name: 'test', replicas: 1 })
    await (await nats.openBucket('things', 1024 * 1024)).put('one', '1')
    await nats.close()
    await before.stop()
    for (const start of ['first', 'second']) {
      const server = await open(dir)
      const later = await openNats({ servers: [server.urlOf('one')], name: 'test', replicas: 1 })
      const bucket = await later.findBucket('things')
      t.equal(Buffer.from((await bucket!.get('one'))!.value!).toString(), '1', start)
      await later.close()
      await server.close()
    }
  })

  t.test('a server that is killed comes back on the same port', async (t) => {
    const dir = tempDir(t)
    const registry = createRegistry()
    const server = await open(dir, 0, registry)
    for (const signal of ['SIGKILL', 'SIGINT'] as const) {
      const { pid } = kept(dir)
      process.kill(pid, signal)
      await until(() => kept(dir).pid !== pid && server.isUp())
      t.equal(kept(dir).port, server.port, signal)
    }
    t.match(await readGreeting(server.port), { server_name: /^weir-/ })
    t.match(await metricsText(registry), /weir_nats_server_exits_total 1\n/, 'a crash is told apart …')
    t.match(await metricsText(registry), /weir_nats_server_stops_total 1\n/, '… from a stop')
    await server.close()
  })

  t.test('what a crashing server says is kept and reported, and survives the restart', async (t) => {
    const dir = tempDir(t)
    const { lines, logger } = loggedLines()
    const server = await open(dir, 0, createRegistry(), logger)
    const { pid } = kept(dir)
    const path = join(dir, 'nats', 'server.stderr')
    t.notOk(existsSync(path), 'a server that is well says nothing')
    // Like a panic: the stacks of all goroutines, and exit code 2.
    process.kill(pid, 'SIGQUIT')
    await until(() => kept(dir).pid !== pid && server.isUp())
    t.match(
      lines.find(({ msg }) => msg.includes('ended by itself')),
      { how: 'exit code 2', reason: /^SIGQUIT/, output: [join(dir, 'nats', 'server.log'), path] },
    )
    t.match(readFileSync(path, 'utf8'), /^SIGQUIT[\s\S]*goroutine/)
    t.equal(statSync(path).mode & 0o777, 0o600)
    await server.close()
  })

  t.test('what a server that does not start says is kept up to a bound', async (t) => {
    const dir = tempDir(t)
    const path = join(dir, 'nats', 'server.stderr')
    for (const [says, bytes] of [
      ['echo first; echo later', 'first\nlater\n'.length],
      ['echo first; head -c 1000000 /dev/zero', stderrBytesMax],
    ] as const) {
      const program = join(dir, 'program')
      writeFileSync(program, `#!/bin/sh\n{ ${says}; } >&2\nexit 1\n`, { mode: 0o700 })
      const options = { dataDir: dir, port: 0, storageMaxBytes: gibibyte, access }
      const occurrences = createOccurrences({
        logger: createLogger('test', 'silent'),
        registry: createRegistry(),
      })
      await t.rejects(openNatsServer({ ...options, executable: program, occurrences }), {
        message: new RegExp(`does not start: first .*${path}`),
      })
      t.equal(statSync(path).size, bytes, says)
    }
  })

  t.test('an outdated server is reported once', async (t) => {
    const dir = tempDir(t)
    const { lines, logger } = loggedLines()
    const registry = createRegistry()
    const server = await open(dir, 0, registry, logger)
    const { pid } = kept(dir)
    process.kill(pid, 'SIGKILL')
    await until(() => kept(dir).pid !== pid && server.isUp())
    const version = (await readGreeting(server.port))?.version
    const reports = outdatedBecause(version) === undefined ? 0 : 1
    const reported = lines.filter(({ msg }) => /outdated.*NATS_URL/.test(msg))
    t.match(reported, reports === 0 ? [] : [{ version }])
    t.equal(reported.length, reports)
    t.match(await metricsText(registry), new RegExp(`\\nweir_nats_server_outdated ${reports}\n`))
    await server.close()
  })

  t.test('it ends with the process that started it, even if that is killed', async (t) => {
    const dir = tempDir(t)
    await killedOwner(dir)
    const { pid, start } = kept(dir)
    await until(() => processStart(pid) !== start)
    t.pass('the server is gone')
  })

  t.test('a server left behind is ended, and its port used again', async (t) => {
    const dir = tempDir(t)
    const { pid, start, port } = await killedOwner(dir, { stopped: true })
    t.equal(processStart(pid), start, 'it was left behind')
    const opening = open(dir)
    await until(() => /^ShdPnd:\t.*[1-9a-f]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')))
    process.kill(pid, 'SIGCONT')
    const server = await opening
    t.equal(processStart(pid), undefined, 'it has ended')
    t.equal(server.port, port)
    await server.close()
  })

  t.test('a process that only has the number of a server of ours is left alone', async (t) => {
    const bystander = spawn('sleep', ['60'])
    const dir = t.testdir({
      nats: { 'server.json': JSON.stringify({ pid: bystander.pid, start: '1', port: 1 }) },
    })
    const server = await open(dir)
    t.type(processStart(bystander.pid ?? 0), 'string')
    bystander.kill()
    await server.close()
  })

  t.test('ports', async (t) => {
    const dir = tempDir(t)
    const port = await freePort()
    const first = await open(dir, port)
    t.equal(first.port, port, 'the one that was asked for')
    await first.close()

    const again = await open(dir)
    t.equal(again.port, port, 'that of the last start, also after a clean stop')
    await again.close()

    const taken = await listen(port)
    await t.rejects(open(dir, port), /WEIR_NATS_PORT.*taken/)
    const registry = createRegistry()
    const other = await open(dir, 0, registry)
    t.not(other.port, port, 'another one, where none was asked for and the last one is taken')
    t.match(await metricsText(registry), /weir_nats_server_moves_total 1\n/, 'which is reported')
    await other.close()
    taken.close()
  })

  t.test('without a program, the error names the ways to get one', async (t) => {
    const options = { dataDir: tempDir(t), port: 0, storageMaxBytes: gibibyte, access }
    const occurrences = createOccurrences({
      logger: createLogger('test', 'silent'),
      registry: createRegistry(),
    })
    await t.rejects(
      openNatsServer({ ...options, executable: undefined, occurrences }),
      /2\.15 is recommended[\s\S]*apt install nats-server/,
    )
    await t.rejects(openNatsServer({ ...options, executable: '/bin/false', occurrences }), /does not start/)
  })
}

/** Opens a server from another process and kills that one; `stopped` keeps the server from noticing. */
async function killedOwner(dir: string, { stopped = false } = {}) {
  const owner = spawn(process.execPath, [fileURLToPath(import.meta.url), 'owner', dir])
  await new Promise((resolve) => owner.stdout.once('data', resolve))
  const server = kept(dir)
  if (stopped) process.kill(server.pid, 'SIGSTOP')
  const gone = new Promise((resolve) => owner.once('exit', resolve))
  owner.kill('SIGKILL')
  await gone
  return server
}

function credentials(url: string): { user: string; pass: string } {
  const { username: user, password: pass } = new URL(url)
  return { user, pass }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(10)
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen({ host: '127.0.0.1', port }, () => resolve(server))
  })
}
