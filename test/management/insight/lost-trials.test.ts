/** A trial whose API process died is shown as lost, whatever the clocks of the machines say. */
import t from 'tap'
import { now } from '../../../src/ground/core/clock.js'
import { Trials } from '../../../src/management/insight/trials.js'

const hourMs = 3_600_000

t.test('a trial that is not written any more is lost within 15 s', async (t) => {
  let passedMs = 0
  t.intercept(performance, 'now', { get: () => () => passedMs, configurable: true })
  const cases: [name: string, aheadMs: number][] = [
    ['clocks agree', 0],
    ['the clock of its machine is ahead', 2 * hourMs],
    ['it is some seconds behind', -20_000],
  ]
  for (const [name, aheadMs] of cases) {
    const stored = { id: 'tr_1', state: 'running', writtenMs: now() + aheadMs }
    const trials = new Trials({ jobs: { get: async () => stored } } as never)
    const stateAt = async (ms: number) => {
      passedMs = ms
      return (await trials.get('ac_1', 'tr_1'))?.state
    }
    t.equal(await stateAt(0), 'running', name)
    t.equal(await stateAt(11_000), 'running', name)
    stored.writtenMs += 500
    t.equal(await stateAt(20_000), 'running', `${name}: it was written again`)
    t.equal(await stateAt(33_000), 'failed', `${name}: it was not`)
  }
})

t.test('one that runs on a machine whose clock is far behind is not lost', async (t) => {
  const stored = { id: 'tr_1', state: 'running', writtenMs: now() - 2 * hourMs }
  const get = async () => {
    stored.writtenMs += 500
    return { ...stored }
  }
  const trials = new Trials({ jobs: { get } } as never)
  for (const when of ['seen first', 'seen again'])
    t.equal((await trials.get('ac_1', 'tr_1'))?.state, 'running', when)
})

t.test('one that died long before this process began is lost at once', async (t) => {
  const stored = { id: 'tr_1', state: 'running', writtenMs: now() - 5 * 60_000 }
  const trials = new Trials({ jobs: { get: async () => stored } } as never)
  for (const _ of ['seen first', 'seen again'])
    t.match(await trials.get('ac_1', 'tr_1'), { state: 'failed', error: /It was lost/ })
})

t.test('one that ends while its progress is being written is stored as it ended', async (t) => {
  let stored: Record<string, unknown> = {}
  let isSlow = true
  let written: () => void = () => {}
  const firstWrite = new Promise<void>((resolve) => {
    written = resolve
  })
  let end: (report: unknown) => void = () => {}
  const ended = new Promise((resolve) => {
    end = resolve
  })
  const jobs = {
    ensure: async () => {},
    bucket: { get: async () => undefined, replace: async () => 1 },
    create: async (_: string, trial: Record<string, unknown>) => {
      stored = trial
      return true
    },
    get: async () => stored,
    change: async (_: string, _id: string, change: (running: unknown) => Record<string, unknown>) => {
      if (stored['state'] !== 'running') return stored
      const changed = change(stored)
      if (isSlow) {
        isSlow = false
        end({ progress: { records: 3, bytes: 30, at: null }, stoppedBy: null, times: null, result: {} })
        await ended
        for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      }
      stored = changed
      written()
      return changed
    },
  }
  let told: (fields: { state: string }) => void = () => {}
  const isTold = new Promise<{ state: string }>((resolve) => {
    told = resolve
  })
  const trials = new Trials({
    jobs,
    start: () => ({ ended, end: () => {} }),
    retentionMs: hourMs,
    occurrences: { trialEnded: told },
  } as never)
  const job = { accountId: 'ac_1', sinceMs: 0, untilMs: 1, isByOwnTime: false }
  const alive = setTimeout(() => {}, 30_000)
  t.teardown(() => clearTimeout(alive))
  const { id } = await trials.start({ job, removes: [], rules: [], tests: null, draftOf: {} } as never)
  await firstWrite
  t.equal((await isTold).state, 'done')
  t.match(await trials.get('ac_1', id), { state: 'done', progress: { records: 3 } })
})
