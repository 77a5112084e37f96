/** The plan for a larger deployment. */
import fc from 'fast-check'
import t from 'tap'
import { busiestServerTime, natsTime, planFor, type ServiceTimes } from './plan.js'

const ns = fc.integer({ min: 100, max: 20_000 })
const serviceTimes = fc
  .record({ leader: ns, follower: ns, pipeline: ns, deliver: ns })
  .filter(({ leader, follower }) => leader >= follower)
const rates = fc.integer({ min: 1, max: 2_000_000 })

t.test(
  'the busiest of three servers: the leader of one partition, a third of everything with three',
  async (t) => {
    const times: ServiceTimes = { leader: 4, follower: 1, pipeline: 0, deliver: 0 }
    t.equal(busiestServerTime(times, 1), 4)
    t.equal(busiestServerTime(times, 2), 2.5)
    t.equal(busiestServerTime(times, 3), natsTime(times) / 3)
    t.equal(busiestServerTime(times, 4), 2.5, 'one of them leads two of four')
  },
)

t.test('a plan has room for the work, on each kind of process and on each leader', async () => {
  fc.assert(
    fc.property(rates, serviceTimes, (rate, times) => {
      const cores = (time: number): number => (rate * time) / 1e9
      const plan = planFor(rate, times)
      if (plan.natsServers < 3 || plan.natsServers * 8 < cores(natsTime(times))) throw new Error('servers')
      if (plan.pipelines < cores(times.pipeline)) throw new Error('pipelines')
      if (plan.deliverers < cores(times.deliver)) throw new Error('deliverers')
      if (cores(times.leader) / plan.partitions > 0.5) throw new Error('leaders')
      if (plan.partitions % plan.natsServers !== 0) throw new Error('a server leads more than another')
      if (plan.writtenPerServer > 500e6) throw new Error('disks')
    }),
  )
})
