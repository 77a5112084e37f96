/** The clock of this machine is wrong: AWS refuses a request once, says what time it is, and accepts all later ones. */
import t, { type Test } from 'tap'
import { AwsClock, isClockRefusal } from '../../../../src/delivery/deliver/aws/aws-clock.js'
import type { DestinationAuth } from '../../../../src/delivery/deliver/aws/aws-kind.js'
import { openSender } from '../../../../src/delivery/deliver/kinds.js'
import {
  checkDestination,
  type DestinationAccess,
  sendTestEvent,
} from '../../../../src/delivery/deliver/test-event.js'
import { adviceFor } from '../../../../src/management/operate/advice/delivery-advice.js'
import { type AwsWorld, keyAuth, kindNames, openAwsWorld, roleAuth } from '../aws-world.js'
import { someEvents } from '../events.js'

const minuteMs = 60_000
const signal = new AbortController().signal

interface SkewedWorld extends AwsWorld {
  /** The differences that were reported, in whole minutes. */
  readonly reported: number[]
  /** Services that refused a signature. */
  refused(): string[]
  setClock(minutes: number): void
  readonly access: DestinationAccess
}

async function openSkewedWorld(t: Test, minutes: number): Promise<SkewedWorld> {
  const world = await openAwsWorld(t)
  const reported: number[] = []
  const clock = new AwsClock((offsetMs) => reported.push(Math.round(offsetMs / minuteMs)))
  const deps = { ...world.deps, clock }
  const aws = world.emulator.world
  aws.clockOffsetMs = minutes * minuteMs
  return {
    ...world,
    deps,
    reported,
    refused: () =>
      Object.entries(aws.stats()).flatMap(([operation, { errors }]) =>
        errors['InvalidSignatureException'] || errors['SignatureDoesNotMatch']
          ? operation.split('.')[0]!
          : [],
      ),
    setClock: (next) => {
      aws.clockOffsetMs = next * minuteMs
    },
    access: {
      openSender: (config) => openSender(config, deps),
    },
  }
}

const send = (world: SkewedWorld, kind: string, auth: DestinationAuth) => {
  const sender = openSender(world.config(kind, auth), world.deps)
  return sender.send(someEvents(1), signal).finally(() => sender.close())
}

for (const minutes of [-100, -16, 10, 20, 100]) {
  for (const [name, auth] of Object.entries({ keys: keyAuth, role: roleAuth })) {
    t.test(`AWS's clock is ${minutes} minutes ahead: ${name}`, async (t) => {
      const world = await openSkewedWorld(t, minutes)
      for (const kind of kindNames) t.match(await send(world, kind, auth), { outcome: 'accepted' }, kind)
      // The first client's; later ones know the difference, those of other services too.
      t.ok(world.refused().every((service) => service === 'kinesis' || service === 'sts'))
      t.strictSame(world.reported, [minutes])
    })
  }
}

t.test('a client stays in use while the clock is set', async (t) => {
  const world = await openSkewedWorld(t, 0)
  const sender = openSender(world.config('kinesis', keyAuth), world.deps)
  t.teardown(() => sender.close())
  for (const minutes of [0, 90, -90, 0]) {
    world.setClock(minutes)
    t.match(await sender.send(someEvents(1), signal), { outcome: 'accepted' }, String(minutes))
  }
  t.strictSame(world.reported, [90, -90, 0])
})

t.test('a session is used as long as AWS says, by whatever clock', async (t) => {
  const world = await openSkewedWorld(t, -6 * 60)
  const sender = openSender(world.config('firehose', roleAuth), world.deps)
  t.teardown(() => sender.close())
  for (let at = 0; at < 3; at += 1) await sender.send(someEvents(1), signal)
  t.equal(world.emulator.world.sessions.size, 1)
})

t.test('a check and a test event', async (t) => {
  for (const auth of [keyAuth, roleAuth]) {
    for (const attempt of [sendTestEvent, checkDestination]) {
      const world = await openSkewedWorld(t, 40)
      const event = { partitionKey: 'ev_t', timestampMs: Date.now(), json: '{"event_id":"ev_t"}' }
      for (const kind of ['kinesis', 'firehose']) {
        const done = await attempt(world.config(kind, auth), event, 60_000, world.access)
        t.match(done, { ok: true }, kind)
      }
      t.strictSame(world.reported, [40])
    }
  }
})

t.test('other refusals are not repeated, however wrong the clock is', async (t) => {
  const world = await openSkewedWorld(t, 3)
  world.emulator.world.addKey({ accessKeyId: 'AKIATEST', secretAccessKey: 'another secret' })
  t.match(await send(world, 'firehose', keyAuth), {
    fault: { class: 'credentials', code: 'InvalidSignatureException' },
  })
  t.equal(world.emulator.world.stats()['firehose.Unknown']?.errors['InvalidSignatureException'], 1)
})

t.test('a refusal that stays names the clock and not the keys', async (t) => {
  const world = await openSkewedWorld(t, 0)
  const message =
    'Signature expired: 20261120T100000Z is now earlier than 20261120T100500Z (20261120T101000Z - 5 min.)'
  world.setClock(10)
  world.emulator.world.faults.add({
    effect: { type: 'error', code: 'InvalidSignatureException', message, status: 400 },
  })
  const sent = await send(world, 'kinesis', keyAuth)
  t.match(sent, {
    fault: {
      class: 'credentials',
      msg: /The clock of this machine is (599|600|601) s behind that of AWS\.$/,
    },
  })
  const { fault } = sent as unknown as { fault: { code: string; msg: string } }
  const advice =
    adviceFor(
      'credentials',
      { id: 'ed_1', target: { kinesis: { stream_arn: 'x' } } } as never,
      null,
      null,
      fault,
    ) ?? ''
  t.match(advice, /the clock of the machine that delivers is wrong/)
  t.notMatch(advice, /new keys/)
})

t.test('refusals because of the time', async (t) => {
  for (const code of ['RequestTimeTooSkewed', 'RequestExpired']) t.ok(isClockRefusal(code, 'Any text.'))
  for (const message of ['Signature expired: x', 'Signature not yet current: x'])
    t.ok(isClockRefusal('SignatureDoesNotMatch', message))
  t.notOk(isClockRefusal('InvalidSignatureException', 'The request signature we calculated does not match'))
  t.notOk(isClockRefusal('ExpiredTokenException', 'The security token included in the request is expired'))
})
