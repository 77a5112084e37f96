/** Jobs in a bucket: who may change one, and when nothing is written. */
import t from 'tap'
import { endedJob, JobBucket } from '../../../src/delivery/wire/job-bucket.js'
import { replayJobs, type StoredReplay } from '../../../src/delivery/wire/replays.js'
import type { Bucket, BucketEntry } from '../../../src/ground/nats/bucket.js'

const id = 'rp_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ'
const running = { id, account_id: 'ac_1', state: 'running', ended_at: null, done: 0 } as StoredReplay

const never = (message: string) => (): never => {
  throw new Error(message)
}

/** Keys with their revisions, in memory. */
function openJobs() {
  const entries = new Map<string, { value: Uint8Array; revision: number }>()
  let revision = 0
  const bucket = {
    decoded: (entry: BucketEntry | undefined, decode: (value: Uint8Array) => unknown) =>
      entry?.value && decode(entry.value),
    get: async (key: string) => (entries.has(key) ? { key, ...entries.get(key)! } : undefined),
    keys: async (filter: string) =>
      [...entries.keys()].filter((key) => new RegExp(filter.replace('*', '.*')).test(key)),
    replace: async (key: string, text: string, expected: number) => {
      if ((entries.get(key)?.revision ?? 0) !== expected) return undefined
      revision += 1
      entries.set(key, { value: Buffer.from(text), revision })
      return revision
    },
  }
  const byAnother = (job: StoredReplay) => {
    revision += 1
    entries.set(`replay.${job.account_id}.${job.id}`, { value: Buffer.from(JSON.stringify(job)), revision })
  }
  return {
    jobs: new JobBucket(replayJobs, bucket as unknown as Bucket),
    entries,
    byAnother,
    revision: () => revision,
  }
}

t.test('a job is created once, under its account', async (t) => {
  const { jobs, entries } = openJobs()
  t.ok(await jobs.create('ac_1', running))
  t.notOk(await jobs.create('ac_1', { ...running, done: 5 }))
  t.strictSame([...entries.keys()], [`replay.ac_1.${id}`])
  t.strictSame(await jobs.get('ac_1', id), running)
  t.strictSame(await jobs.list(), [running])
  for (const [account, other] of [
    ['ac_2', id],
    ['ac_1', '*'],
    ['ac_1', 'rp_x.y'],
    ['ac_1', 'try_1'],
  ] as const)
    t.equal(await jobs.get(account, other), undefined, `${account} ${other}`)
  t.equal(await jobs.change('ac_2', id, never('nothing is there')), undefined)
})

t.test('a change that changes nothing is not written', async (t) => {
  const { jobs, revision } = openJobs()
  await jobs.create('ac_1', running)
  t.strictSame(await jobs.change('ac_1', id, (job) => ({ ...job })), running)
  t.equal(revision(), 1)
})

t.test('a change that was overtaken is made again, unless the job has ended', async (t) => {
  const { jobs, byAnother } = openJobs()
  await jobs.create('ac_1', running)
  let tries = 0
  const changed = jobs.change('ac_1', id, (job) => {
    tries += 1
    if (tries === 1) byAnother({ ...job, done: 7 })
    return { ...job, last: 9 }
  })
  t.match(await changed, { done: 7, last: 9 })
  t.equal(tries, 2)
  const cancelled = await jobs.change('ac_1', id, (job) => endedJob(job, { state: 'cancelled' }))
  t.match(cancelled, { state: 'cancelled', ended_at: /Z$/ })
  t.strictSame(await jobs.change('ac_1', id, never('it has ended')), cancelled)
})
