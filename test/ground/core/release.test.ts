import t from 'tap'
import { ReleaseStack } from '../../../src/ground/core/release.js'

t.test('last opened, first closed', async (t) => {
  const closed: string[] = []
  const release = new ReleaseStack()
  release.add(() => closed.push('first'))
  const owned = release.own({ name: 'second', close: () => closed.push('second') })
  release.add(async () => closed.push('third'))
  t.equal(owned.name, 'second', 'what is owned is handed back')
  await release.release()
  t.strictSame(closed, ['third', 'second', 'first'])
  await release.release()
  t.equal(closed.length, 3, 'each is closed once')
})

t.test('one closes before the next one begins', async (t) => {
  const steps: string[] = []
  const release = new ReleaseStack()
  release.add(() => steps.push('below'))
  release.add(async () => {
    steps.push('begun')
    await Promise.resolve()
    steps.push('done')
  })
  await release.release()
  t.strictSame(steps, ['begun', 'done', 'below'])
})

t.test('each is tried even where another failed', async (t) => {
  const closed: string[] = []
  const release = new ReleaseStack()
  release.add(() => closed.push('below'))
  release.add(() => {
    throw new Error('stuck')
  })
  await t.rejects(release.release(), { message: 'stuck' })
  t.strictSame(closed, ['below'])
})

t.test('several failures are told together', async (t) => {
  const release = new ReleaseStack()
  for (const name of ['one', 'two']) release.add(() => Promise.reject(new Error(name)))
  const error = await release.release().then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.ok(error instanceof AggregateError)
  t.strictSame(
    (error as AggregateError).errors.map((each: Error) => each.message),
    ['two', 'one'],
  )
})

t.test('leaving a block closes what it opened', async (t) => {
  const closed: string[] = []
  const work = async () => {
    await using release = new ReleaseStack()
    release.add(() => closed.push('opened'))
    throw new Error('half way')
  }
  await t.rejects(work(), { message: 'half way' })
  t.strictSame(closed, ['opened'])
})
