/** The configuration that `weir nats-config` prints, read by a nats-server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { natsConfig } from '../../../src/delivery/nats-server/nats-config.js'
import { natsAccess } from '../../../src/delivery/nats-server/nats-users.js'
import { localNatsServer } from '../../../src/management/process/settings.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

const users = Object.values(natsAccess().accounts).flatMap(({ users }) => users.map(({ name }) => name))

/** Starts a server with this configuration; resolves with its port. */
async function startServer(t: Test, config: string, passwordOf: (user: string) => string): Promise<number> {
  const dir = tempDir(t)
  const file = join(dir, 'server.conf')
  writeFileSync(file, `${config}\njetstream { store_dir: "${join(dir, 'store')}" }\n`)
  const env = Object.fromEntries(
    users.map((user) => [`NATS_${user.toUpperCase()}_PASSWORD`, passwordOf(user)]),
  )
  const options = ['-c', file, '-a', '127.0.0.1', '-p', '-1', '--ports_file_dir', dir]
  const server = spawn(localNatsServer() ?? 'nats-server', options, {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(async () => {
    server.kill()
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  })
  let said = ''
  server.stderr.on('data', (data: Buffer) => {
    said += data.toString()
  })
  const portsFile = () => readdirSync(dir).find((name) => name.endsWith('.ports'))
  await until('it runs', () => server.exitCode !== null || portsFile() !== undefined)
  if (server.exitCode !== null) throw new Error(said)
  const { nats } = JSON.parse(readFileSync(join(dir, portsFile()!), 'utf8')) as { nats: string[] }
  return Number(new URL(nats[0]!).port)
}

t.test(
  'a password may be any text, in quotation marks that belong to the value of its variable',
  async (t) => {
    // Without them, the server refuses most of these, and 2.9 takes what is before a comma.
    const passwords = ['1234', '8k', '-a', "it's", 'a#b', 'a b', '$2b', 'true', 'x,y', 'x']
    t.equal(passwords.length, users.length)
    const passwordOf = (user: string): string => passwords[users.indexOf(user)]!
    for (const [partitions, existing] of [
      [1, 1],
      [4, 8],
    ] as const) {
      const config = natsConfig(partitions, existing)
      t.match(config, /^# .*NATS_API_PASSWORD='"/, 'it says so')
      const port = await startServer(t, config, (user) => `"${passwordOf(user)}"`)
      for (const user of users) {
        const connection = await connect({ port, user, pass: passwordOf(user), reconnect: false })
        await connection.close()
      }
      await t.rejects(connect({ port, user: 'pipeline', pass: 'a', reconnect: false }), 'no other password')
    }
  },
)
