/** Where passwords of the local nats-server are shown, and where not. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readUserUrl } from '../../src/delivery/nats-server/logins.js'
import { openNats } from '../../src/ground/nats/nats.js'
import { readRuntime } from '../../src/management/process/running-service.js'
import { processesBelow } from '../harness/tree.js'
import { openService } from './service.js'

t.test('the output shows the password of ingress nodes and no other', async (t) => {
  const { weir, dataDir } = await openService()
  const natsDir = join(dataDir, 'nats')
  t.match(weir.natsUrl, /^nats:\/\/ingress:[\w-]+@127\.0\.0\.1:\d+$/)
  t.equal(readRuntime(dataDir)?.natsUrl, weir.natsUrl)
  t.equal(statSync(join(dataDir, 'runtime.json')).mode & 0o777, 0o600)
  const users = readdirSync(join(natsDir, 'users'))
  const passwords = users.map((user) => new URL(readUserUrl(natsDir, user)!).password)
  t.equal(new Set(passwords).size, users.length)
  for (const user of users) t.equal(statSync(join(natsDir, 'users', user)).mode & 0o777, 0o600, user)
  const processes = [weir.process.pid, ...processesBelow(weir.process.pid).map(({ pid }) => pid)]
  t.ok(processes.length > 3)
  const commandLines = processes.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1')).join('\n')
  const others = passwords.filter((password) => !weir.natsUrl.includes(password))
  const log = readFileSync(join(natsDir, 'server.log'), 'utf8')
  for (const password of others) t.notMatch(weir.process.output(), password)
  for (const password of passwords) t.notMatch(`${commandLines}${log}`, password)
  t.notMatch(log, /Violation/, 'no process of Weir exceeds its rights')

  const ingress = await openNats({ servers: [weir.natsUrl], name: 'test', replicas: 1 })
  const { sequence } = await ingress.publish('weir.records.eu.node-1', '{}')
  t.ok(sequence > 0, 'an ingress node can publish with the printed address')
  t.match(Buffer.from(await ingress.request('weir.decide', '{}', 5_000)).toString(), /error_code/)
  await ingress.close()
})
