/** Single records of a request fail, or can never be accepted. */
import type { Scenario } from '../scenario.js'

const failingShare = 0.3
const services = ['kinesis', 'firehose'] as const

export const partlyRefused: Scenario = {
  name: 'partly-refused',
  fault: '30 % of the records of each request are throttled or fail, at Kinesis and Firehose',
  passesWhen: 'every event is delivered; no accepted record is sent again',
  run: async (run) => {
    const traffic = await run.open()
    const { site, publisher } = traffic
    const { client } = site.emulator
    for (const service of services)
      for (const code of [undefined, 'InternalFailure'])
        await client.addFault({
          service,
          probability: failingShare / 2,
          effect: { type: 'fail_records', ...(code !== undefined && { code }) },
        })
    await publisher.fillUp(run.size.records)
    await traffic.untilIdle()
    const stats = await client.stats()
    const { recordsFailed = 0 } = stats['kinesis.PutRecords'] ?? {}
    await client.clearFaults()
    const figures = { 'refused at Kinesis': recordsFailed.toLocaleString('en') }
    const broken = recordsFailed === 0 ? ['Kinesis refused nothing'] : []
    return traffic.judge({ repeatsMax: () => 0 }, figures, broken)
  },
}

export const poisonEvents: Scenario = {
  name: 'poison-events',
  fault: 'one event in a full batch is refused as invalid, at Kinesis and Firehose',
  passesWhen:
    'the others are delivered, it alone is a dead letter with its reason, after ≤ 10 extra requests',
  run: async (run) => {
    const traffic = await run.open()
    const { site, publisher } = traffic
    const { client } = site.emulator
    const poisoned = Math.floor(run.size.records / 2)
    for (const service of services)
      await client.addFault({ service, effect: { type: 'poison', containing: `"bytes_in":${poisoned},` } })
    await publisher.fillUp(run.size.records)
    const isExcused = (n: number, kind: string) => n === poisoned && services.some((each) => each === kind)
    const judged = await traffic.judge({ repeatsMax: () => 0, deadLettered: services.length, isExcused })
    const stats = await client.stats()
    const refusals = Object.entries(stats).flatMap(([operation, { errors }]) =>
      Object.values(errors).map((count) => ({ operation, count })),
    )
    const most = Math.max(0, ...refusals.map(({ count }) => count))
    const reasons: string[] = []
    for await (const { reason } of site.api.deadLetters.list({})) reasons.push(reason)
    const broken = [
      ...(most > extraMax ? [`${most} requests were refused for one event`] : []),
      ...(reasons.length === services.length && reasons.every((reason) => reason !== '')
        ? []
        : [`the dead letters say ${JSON.stringify(reasons)}`]),
    ]
    return {
      figures: { ...judged.figures, 'refused requests': `at most ${most}`, reason: reasons[0] ?? 'none' },
      broken: [...judged.broken, ...broken],
    }
  },
}

const extraMax = 10
