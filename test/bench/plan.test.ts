/** What a plan for a larger deployment says. */
import fc from 'fast-check'
import t from 'tap'
import {
  busiestServerTime,
  natsTime,
  planFor,
  type ServiceTime,
  type ServiceTimes,
  serviceTimeOf,
  timeAt,
} from './plan.js'

const serviceTime = fc.record({
  perRecord: fc.integer({ min: 100, max: 20_000 }),
  perPartition: fc.integer({ min: 0, max: 100_000_000 }),
})
const serviceTimes = fc.record({
  leader: serviceTime,
  follower: serviceTime,
  pipeline: serviceTime,
  deliver: serviceTime,
})
const rates = fc.integer({ min: 1, max: 2_000_000 })
const perRecord = (ns: number): ServiceTime => ({ perRecord: ns, perPartition: 0 })

t.test(
  'the busiest of three servers: the leader of one partition, a third of everything with three',
  async (t) => {
    const times: ServiceTimes = {
      ...{ leader: perRecord(4), follower: perRecord(1) },
      ...{ pipeline: perRecord(0), deliver: perRecord(0) },
    }
    const busiest = (partitions: number) => busiestServerTime(times, { partitions, recordsPerSecond: 1 })
    t.equal(busiest(1), 4)
    t.equal(busiest(2), 2.5)
    t.equal(busiest(3), natsTime(times, { partitions: 3, recordsPerSecond: 1 }) / 3)
    t.equal(busiest(4), 2.5, 'one of them leads two of four')
  },
)

t.test('what a partition takes in a second counts for as many records as it has', async (t) => {
  const [fast, slow] = [
    { perRecord: 5_000, recordsPerSecond: 50_000 },
    { perRecord: 8_000, recordsPerSecond: 12_500 },
  ]
  const time = serviceTimeOf(fast, slow)
  t.equal(Math.round(timeAt(time, { partitions: 1, recordsPerSecond: 50_000 })), 5_000)
  t.equal(Math.round(timeAt(time, { partitions: 1, recordsPerSecond: 12_500 })), 8_000)
  t.equal(Math.round(timeAt(time, { partitions: 4, recordsPerSecond: 50_000 })), 8_000, 'a quarter for each')
})

t.test('a plan has room for the work, on each kind of process and on each leader', async () => {
  fc.assert(
    fc.property(rates, serviceTimes, (recordsPerSecond, times) => {
      const plan = planFor(recordsPerSecond, times)
      const { partitions } = plan
      const load = { recordsPerSecond, partitions }
      const cores = (time: number): number => (recordsPerSecond * time) / 1e9
      if (plan.natsServers < 3 || plan.natsServers * 8 < cores(natsTime(times, load)))
        throw new Error('servers')
      if (plan.pipelines < cores(timeAt(times.pipeline, load))) throw new Error('pipelines')
      if (plan.deliverers < cores(timeAt(times.deliver, load))) throw new Error('deliverers')
      if (cores(timeAt(times.leader, load)) / partitions > 0.5 + 1e-9) throw new Error('leaders')
      if (partitions % plan.natsServers !== 0) throw new Error('a server leads more than another')
      if (plan.writtenPerServer > 500e6) throw new Error('disks')
    }),
  )
})
