/** A role on a nats-server whose permissions are those of an earlier version: it works, and says once what it may not do. */
import t, { type Test } from 'tap'
import { accountsConfig } from '../../../src/delivery/nats-server/nats-access.js'
import { natsAccess } from '../../../src/delivery/nats-server/nats-users.js'
import { roleInboxPrefix } from '../../../src/delivery/nats-server/role-users.js'
import { probeStream } from '../../../src/delivery/wire/names.js'
import { partitionsUpTo } from '../../../src/delivery/wire/partitions.js'
import { ensureStreams, writtenStreams } from '../../../src/delivery/wire/streams.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { WriteWatch } from '../../../src/management/process/write-watch.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

const mebibyte = 1024 * 1024

/** The configuration of a server on which no user may do this. */
function configWithout(isMissing: (subject: string) => boolean): string {
  const accounts = accountsConfig(natsAccess().accounts, (name) => [{ name, password: 'secret' }])
  const older = (_: string, value: unknown): unknown =>
    Array.isArray(value) ? value.filter((each) => typeof each !== 'string' || !isMissing(each)) : value
  return `accounts: ${JSON.stringify(accounts, older)}\n`
}

async function pipelineOn(t: Test, config: string) {
  const server = new OwnNats(tempDir(t), [], config)
  await server.start()
  t.teardown(() => server.kill())
  const open = async (user: string, of: { readonly inboxPrefix?: string } = {}) => {
    const url = server.url.replace('//', `//${user}:secret@`)
    const nats = await openNats({ servers: [url], name: 'test', replicas: 1, ...of })
    t.teardown(() => nats.close())
    return nats
  }
  await ensureStreams(await open('admin'), { storageMaxBytes: 16 * mebibyte, retentionMs: 60 * 60_000 })
  return open('pipeline', { inboxPrefix: roleInboxPrefix('pipeline') })
}

async function looked(t: Test, config: string) {
  const nats = await pipelineOn(t, config)
  const said: unknown[] = []
  const watch = new WriteWatch({
    nats,
    written: {
      role: 'pipeline',
      streams: () => writtenStreams(partitionsUpTo(1)).pipeline,
      isServerLocal: false,
    },
    occurrences: {
      writesFailing: () => {},
      writesFailed: (fields) => said.push(fields),
      writesRecovered: (fields) => said.push(fields),
      probesForbidden: (fields) => said.push(fields),
    },
  })
  t.teardown(() => watch.close())
  for (let looks = 0; looks < 3; looks += 1) await watch.look()
  return { said, failing: watch.failing }
}

t.test('a probe may be stored and not read', async (t) => {
  const { said, failing } = await looked(
    t,
    configWithout((subject) => subject === `$JS.API.STREAM.MSG.GET.${probeStream}`),
  )
  t.strictSame(failing, {})
  t.match(said, [{ what: probeStream, reason: /[Pp]ermissions/ }])
  t.equal(said.length, 1)
})

t.test('no probe may be stored', async (t) => {
  const { said, failing } = await looked(
    t,
    configWithout((subject) => /probe/i.test(subject)),
  )
  t.strictSame(failing, {})
  t.match(said, [{ what: probeStream, reason: /[Pp]ermissions/ }])
  t.equal(said.length, 1)
})

t.test('all of them as they are now', async (t) => {
  const { said, failing } = await looked(
    t,
    configWithout(() => false),
  )
  t.strictSame(failing, {})
  t.strictSame(said, [])
})
