/**
 * The data directory of an older version, with everything in it that waits, is opened by the build of today: killed in the
 * middle of its work, and started as the other.
 */
import type { Test } from 'tap'
import { deadLetterStream } from '../../src/delivery/wire/names.js'
import type { Client } from '../../src/words/client/client.js'
import { freePorts } from '../harness/free-ports.js'
import { untilInUse } from '../harness/in-use.js'
import { freeze } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { killAll, processesBelow } from '../harness/tree.js'
import { type Emulator, type RunningWeir, startEmulator, startWeir, until } from '../harness/weir.js'
import { record, token } from '../integration/deployment.js'
import {
  type Contents,
  clientWith,
  furnish,
  loggedBy,
  natsOf,
  publishRecords,
  shownBy,
  streams,
  untilAt,
  untilUsed,
} from './contents.js'
import type { Build } from './older-build.js'

/** Records that are published before the pipelines stop, after that, and after the upgrade. */
const before = 200
const waiting = 400
const after = 600

/** Starts `weir serve` of a build on the same data, at the same address. */
async function starter(t: Test, url: string) {
  const dir = tempDir(t)
  const [port = 0] = await freePorts(1)
  const env = { WEIR_PORT: String(port), AWS_ENDPOINT_URL: url, WEIR_BOOTSTRAP_TOKEN: token }
  const start = async (build: Build): Promise<RunningWeir> => {
    const weir = await startWeir(dir, env, '', (all) => build(['serve'], all))
    t.teardown(() => weir.stop())
    return weir
  }
  return { start, environment: { WEIR_DATA_DIR: dir, ...env } }
}

export async function takesOver(t: Test, from: Build, to: Build): Promise<void> {
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const { start } = await starter(t, emulator.url)
  const old = await start(from)
  const { token: made, destinations } = await furnish(old.api, emulator)
  await emulator.client.addFault({ effect: { type: 'access_denied' }, resource: 'refuses' })
  const nats = await natsOf(old)
  await untilUsed(nats, emulator)
  await publishRecords(nats, 0, before)
  await nats.publish('weir.records.eu.node-1', 'this is no record', { msgId: 'bad' })
  await untilAt(emulator, 'works', before)
  await until(
    'the dead letter is stored',
    async () => (await nats.streamInfo(deadLetterStream))!.state.messages > 0,
  )
  await until('the log has them', async () => ((await loggedBy(old.api))?.size ?? before) >= before)
  const logged = await loggedBy(old.api)
  const shown = await shownBy(old.api)
  for (const { pid, role } of processesBelow(old.process.pid)) if (role === 'pipeline') freeze(pid)
  await publishRecords(nats, before, waiting)
  await nats.close()
  await killAll(old.process.pid)

  const weir = await start(to)
  t.match(await shownBy(weir.api), shown, 'every resource is shown with all that it had')
  await untilAt(emulator, 'works', waiting)
  const { events } = await emulator.client.counts({ service: 'kinesis', name: 'refuses' })
  t.equal(events, 0, 'events wait for the destination that refuses them')
  await emulator.client.clearFaults()
  await untilAt(emulator, 'refuses', waiting)

  if (logged === undefined) t.comment('the older version has no log of decisions')
  else await keepsLog(t, weir.api, logged)
  const letters = await weir.api.deadLetters.list().next()
  t.match(letters.value, { type: 'record' }, 'the dead letter can be read')
  t.match(
    await clientWith(weir, made).apiKey.list().next(),
    { done: false },
    'a key that was shown once works',
  )
  await worksOn(t, weir, emulator, destinations)
}

/** The data of today, opened by a version that would misread it: it ends, says why, and today's goes on as before. */
export async function isRefused(t: Test, from: Build, today: Build): Promise<void> {
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const { start, environment } = await starter(t, emulator.url)
  const first = await start(today)
  await furnish(first.api, emulator)
  const shown = await shownBy(first.api)
  await first.stop()
  const refused = from(['serve'], environment)
  await refused.line(/written by Weir 0\.2\.0 or later, .* Start Weir 0\.2\.0 or later/)
  await refused.stop()
  const weir = await start(today)
  t.match(await shownBy(weir.api), shown, 'nothing has changed')
}

/** What was decided before can be found, and is explained. */
async function keepsLog(t: Test, api: Client, logged: ReadonlySet<string>): Promise<void> {
  const present = (await loggedBy(api)) ?? new Set()
  t.strictSame(
    [...logged].filter((id) => !present.has(id)),
    [],
    'the log has every decision that it had',
  )
  const traced = JSON.stringify(await api.record('run-0'))
  t.match(traced, /10\.0\.0\.0\/8/, 'a decision of before is explained by its rule')
}

/** Traffic, explanations and changes, as if the data had always been of this version. */
async function worksOn(
  t: Test,
  weir: RunningWeir,
  emulator: Emulator,
  destinations: Contents['destinations'],
): Promise<void> {
  const { api } = weir
  const [policy] = (await shownBy(api))['ipPolicy'] as readonly { readonly id: string }[]
  await api.ipPolicyRule.create({ ip_policy_id: policy?.id ?? '', cidr: '10.1.8.0/24', action: 'deny' })
  await untilInUse(weir)
  const { decision, ...explained } = await api.decide(JSON.parse(record('asked', 8)))
  t.equal(decision, 'block', 'a rule that is added now decides')
  t.match(JSON.stringify(explained), /10\.1\.8\.0\/24/, 'and the explanation names it')
  const nats = await natsOf(weir)
  await publishRecords(nats, waiting, after)
  await nats.close()
  for (const name of streams) await untilAt(emulator, name, after)
  for (const name of streams)
    await until('the books of both have no backlog', async () => {
      const { counts, backlog } = await api.deliveryStatus(destinations[name])
      return counts.delivered >= after && backlog.events === 0
    })
}
