/**
 * `weir backup` and `weir restore` with traffic under way: nothing that was acknowledged before the backup began is missing, a
 * damaged or unfinished backup is refused, and so is a target that is not empty or has another key.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Client, openClient } from '../../src/words/client/client.js'
import { kindTable } from '../../src/words/client/kind-table.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { openDeployment, publish, token } from './deployment.js'

interface Ran {
  readonly code: number | null
  readonly output: string
}

type Environment = Readonly<Record<string, string>>

async function weir(args: readonly string[], dataDir: string, env: Environment = {}): Promise<Ran> {
  const command = run('programs/main.js', args, { WEIR_DATA_DIR: dataDir, ...env })
  const { code } = await command.ended
  return { code, output: command.output() }
}

/** Every resource of the account as the API shows it, by kind and id; the address of the API is another one afterwards. */
async function allResources(api: Client): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  const { origin } = new URL((await api.tcpEdge.list().next()).value?.uri ?? 'http://none')
  for (const [name, { parentField }] of Object.entries(kindTable)) {
    const kind = (api as unknown as Record<string, { list(): AsyncIterable<{ id: string }> }>)[name]
    if (parentField !== undefined || kind === undefined || name === 'abuseReport') continue
    for await (const resource of kind.list())
      found[`${name} ${resource.id}`] = JSON.parse(JSON.stringify(resource).replaceAll(origin, 'http://api'))
  }
  return found
}

const withoutUse = (resources: Record<string, unknown>) =>
  JSON.parse(JSON.stringify(resources, (name, value) => (name.startsWith('last_use') ? undefined : value)))

t.test('a backup with traffic under way, restored into an empty data directory', async (t) => {
  const deployment = await openDeployment(t)
  const { api, accountId } = deployment.weir
  const nats = await deployment.weir.nats()
  await api.pauseDestination(deployment.destinations.all)
  const key = (await api.apiKey.create({ description: 'another' })) as unknown as { token: string }
  await nats.publish('weir.records.eu.node-1', 'this is no record', { msgId: 'bad' })
  await until('there is a dead letter', async () => (await api.deadLetters.list().next()).value !== undefined)
  const [letter] = [(await api.deadLetters.list().next()).value]
  const acknowledged = 400
  await publish(nats, 'run', 0, acknowledged)
  const before = await allResources(api)

  // Until the backup is done, and a while before it begins.
  let isDone = false
  let published = acknowledged
  const traffic = (async () => {
    while (!isDone) {
      await publish(nats, 'run', published, published + 50)
      published += 50
      await api.ipPolicy.create({ description: `while it is made ${published}` })
    }
  })()
  const dir = tempDir(t)
  const path = join(dir, 'backup.tar')
  const made = await weir(['backup', path, '--json'], deployment.dataDir)
  isDone = true
  await traffic
  t.equal(made.code, 0, made.output)
  t.match(JSON.parse(made.output.split('\n').find((line) => line.startsWith('{')) ?? 'null'), {
    accounts: 1,
    letters_left: 0,
  })
  t.equal(statSync(path).mode & 0o777, 0o600, 'only the owner can read it')
  t.notOk(existsSync(`${path}.partial`))
  const secretKey = readFileSync(join(deployment.dataDir, 'secret.key'))
  t.notOk(readFileSync(path).includes(secretKey.toString().trim()), 'the secret key is not in it')
  const again = await weir(['backup', path], deployment.dataDir)
  t.equal(again.code, 1)
  t.match(again.output, /is there already/)

  const asDirectory = join(dir, 'backup')
  t.equal((await weir(['backup', asDirectory], deployment.dataDir)).code, 0)
  t.ok(readdirSync(asDirectory).includes('manifest.json'))
  await deployment.weir.stop()

  /** An empty data directory with this key. */
  const target = (key: Buffer = secretKey): string => {
    const empty = join(tempDir(t), 'data')
    mkdirSync(empty, { mode: 0o700 })
    writeFileSync(join(empty, 'secret.key'), key, { mode: 0o600 })
    return empty
  }

  await t.test('is refused', async (t) => {
    const cases: { name: string; target: string; says: RegExp; from?: string }[] = [
      {
        name: 'with another key',
        target: target(Buffer.from(Buffer.alloc(32, 7).toString('base64'))),
        says: /The secret key here .* is not the one of the backup/,
      },
      {
        name: 'by a deployment that has something',
        target: deployment.dataDir,
        says: /is not empty .*restored into an empty one only/,
      },
      { name: 'where there is none', target: target(), from: join(dir, 'none.tar'), says: /can't be read/ },
    ]
    for (const { name, target, says, from = path } of cases) {
      const { code, output } = await weir(['restore', from], target)
      t.equal(code, 1, `${name}: ${output}`)
      t.match(output, says, name)
    }
    const keyless = join(tempDir(t), 'data')
    const refused = await weir(['restore', path], keyless)
    t.match(refused.output, /There is no secret key: put the secret.key/)
    t.notOk(existsSync(keyless), 'and nothing is made')
  })

  await t.test('a flipped byte is refused, and named, wherever it is', async (t) => {
    const bytes = readFileSync(path)
    for (const [name, at] of placesIn(bytes)) {
      const damaged = join(dir, 'damaged.tar')
      const copy = Buffer.from(bytes)
      copy[at] = copy[at]! ^ 0x01
      writeFileSync(damaged, copy)
      const into = target()
      const { code, output } = await weir(['restore', damaged], into)
      t.equal(code, 1, name)
      t.ok(output.includes(name), `${name} is named: ${output}`)
      t.same(readdirSync(into), ['secret.key'], 'nothing was written')
    }
    const cut = join(dir, 'cut.tar')
    writeFileSync(cut, bytes.subarray(0, bytes.length - 5_000))
    t.match((await weir(['restore', cut], target())).output, /is not whole/)
  })

  // Stopped, so that a backup has to open the store itself.
  const second = { dataDir: target() }
  await t.test('restored: all is there, and works', async (t) => {
    const into = second.dataDir
    const restored = await weir(['restore', path], into)
    t.equal(restored.code, 0, restored.output)
    t.notOk(existsSync(join(into, 'restore.unfinished')))
    const service = await startWeir(into, { ...deployment.env, WEIR_BOOTSTRAP_TOKEN: token })
    t.teardown(() => service.stop())
    const restoredApi = openClient({ url: service.url, token })
    const after = await allResources(restoredApi)
    const known = Object.fromEntries(Object.keys(before).map((name) => [name, after[name]]))
    t.same(withoutUse(known), withoutUse(before), 'every resource is as it was')
    t.ok(Object.keys(before).length > 8, 'of several kinds')
    await openClient({ url: service.url, token: key.token }).overview()
    t.pass('a further key works')
    t.equal((await restoredApi.deadLetters.list().next()).value?.id, letter?.id, 'the dead letter is there')
    await restoredApi.resumeDestination(deployment.destinations.all)
    const arrived = new Set<number>()
    await until('all events of acknowledged records arrive', async () => {
      for await (const { data } of deployment.emulator.client.received({ service: 'kinesis', name: 'all' }))
        arrived.add(numberIn(data))
      return Array.from({ length: acknowledged }, (_, n) => n).every((n) => arrived.has(n))
    }).catch((error: Error) =>
      t.fail(
        `${error.message} ${arrived.size} of ${acknowledged} arrived. ${service.process.output().slice(-2_000)}`,
      ),
    )
    const admin = await service.nats()
    await publish(admin, 'later', 1_000_000, 1_000_050)
    await until('new records are processed', async () => {
      for await (const { data } of deployment.emulator.client.received({ service: 'kinesis', name: 'all' }))
        arrived.add(numberIn(data))
      return arrived.has(1_000_049)
    })
    const edge = await restoredApi.tcpEdge.create({ hostports: ['later.example.com:22'] })
    t.ok(edge.id, 'changes are taken')
    await t.rejects(
      restoredApi.tcpEdge.create({ hostports: ['ssh.example.com:22'] }),
      /taken|used|belongs|exists/i,
      'names are claimed',
    )
    t.ok(accountId)
  })

  await t.test('the directory is a backup, too', async (t) => {
    const into = target()
    t.equal((await weir(['restore', asDirectory], into)).code, 0)
    const part = readdirSync(join(asDirectory, 'tables'))[0]!
    const file = join(asDirectory, 'tables', part)
    const bytes = readFileSync(file)
    bytes[bytes.length - 1] = bytes[bytes.length - 1]! ^ 0x01
    writeFileSync(file, bytes)
    const { code, output } = await weir(['restore', asDirectory], target())
    t.equal(code, 1)
    t.ok(output.includes(`tables/${part}`), output)
  })

  await t.test(
    'a backup that was killed is none, and a restore that was killed is not started',
    async (t) => {
      const unfinished = join(dir, 'unfinished.tar')
      await until('one is killed before its end', async () => {
        const making = run('programs/main.js', ['backup', unfinished], { WEIR_DATA_DIR: second.dataDir })
        await Promise.race([
          until('it has begun', () => existsSync(`${unfinished}.partial`) || existsSync(unfinished)),
          making.ended,
        ])
        await making.kill()
        const isKilled = !existsSync(unfinished)
        rmSync(unfinished, { force: true })
        return isKilled
      })
      t.ok(existsSync(`${unfinished}.partial`), 'what it wrote has another name')
      t.match((await weir(['restore', unfinished], target())).output, /was not finished/)
      t.match((await weir(['restore', `${unfinished}.partial`], target())).output, /is not whole/)
      t.equal((await weir(['backup', unfinished], second.dataDir)).code, 0, 'the next one takes its place')
      const killedInto = target()
      const restoring = run('programs/main.js', ['restore', path], { WEIR_DATA_DIR: killedInto })
      await until('it has begun', () => existsSync(join(killedInto, 'restore.unfinished')))
      await restoring.kill()
      const { code, output } = await weir(['account', 'list'], killedInto)
      t.equal(code, 1)
      t.match(output, /was not restored to its end/)
      t.match((await weir(['restore', path], killedInto)).output, /is not empty/)
    },
  )
})

/** A place in the middle of the first file of some kinds, by the name of the file. */
function placesIn(archive: Buffer): [string, number][] {
  const places: [string, number][] = []
  const kinds = [
    /^streams\/WEIR_RECORDS/,
    /^streams\/WEIR_DEADLETTER/,
    /^tables\/account\./,
    /^manifest.json$/,
  ]
  for (let at = 0; at + 512 <= archive.length; ) {
    const name = archive.toString('utf8', at, at + 100).replace(/\0.*$/, '')
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 135), 8)
    if (name === '') break
    if (kinds.some((kind) => kind.test(name)) && size > 0)
      places.push([name, at + 512 + Math.floor(size / 2)])
    at += 512 + Math.ceil(size / 512) * 512
  }
  return places
}

/** The number of the record that an event is about. */
function numberIn(data: string): number {
  const event = JSON.parse(data) as { object?: { conn?: { bytes_in?: number } } }
  return event.object?.conn?.bytes_in ?? -1
}
