/** Reads wait for a place: in turn, not for ever, and not for a client that is gone. */
import t from 'tap'
import { ClientGone } from '../../../../src/ground/core/errors.js'
import { AtOnce, boundsAtOnce } from '../../../../src/management/http/bounds/at-once.js'

const { perAccount, perProcess } = boundsAtOnce.log_search
const staying = new AbortController().signal

function open() {
  const refusals: string[] = []
  const atOnce = new AtOnce({ requestRefusedAtOnce: ({ scope }) => void refusals.push(String(scope)) })
  const enter = (caller: string, signal = staying) => atOnce.takeInTurn('log_search', caller, signal)
  return { atOnce, enter, refusals }
}

/** As many as an account may have, each with its release. */
const fill = (enter: ReturnType<typeof open>['enter'], caller: string) =>
  Array.from({ length: perAccount }, () => enter(caller) as () => void)

t.test('one more than an account may have', async (t) => {
  const { enter, refusals } = open()
  const releases = fill(enter, 'one')
  const served: string[] = []
  const wait = async (name: string) => {
    const release = await enter('one')
    served.push(name)
    return release
  }
  const [first, second] = [wait('first'), wait('second')]
  ;(await enter('other'))()
  t.strictSame(served, [], 'waits, and another account does not')
  releases[0]!()
  const release = await first
  t.strictSame(served, ['first'], 'the one that has waited longest is next')
  release()
  await second
  t.strictSame(served, ['first', 'second'])
  t.strictSame(refusals, [])
})

t.test('as many as are served may wait, and no more', async (t) => {
  const { enter, refusals } = open()
  const [release] = fill(enter, 'one')
  const waiting = Array.from({ length: perAccount }, () => enter('one') as Promise<() => void>)
  t.throws(() => enter('one'), /^Too many searches .* at most 10 of an account/)
  t.strictSame(refusals, ['account'])
  release!()
  for (const each of waiting) (await each)()
})

t.test('places of all accounts', async (t) => {
  // The timer of a waiting request keeps no process alive.
  const alive = setTimeout(() => {}, 60_000)
  t.teardown(() => clearTimeout(alive))
  const { enter } = open()
  for (let account = 0; account * perAccount < perProcess; account += 1) fill(enter, `account ${account}`)
  const last = fill(enter, 'nobody yet') as unknown as readonly Promise<() => void>[]
  t.ok(
    last.every((each) => each instanceof Promise),
    'each waits, although its account has places',
  )
  await t.rejects(Promise.all(last), /at most 50 of all accounts/, 'not for ever')
})

t.test('a client that is gone', async (t) => {
  const { enter, refusals } = open()
  const [release] = fill(enter, 'one')
  const gone = new AbortController()
  const left = enter('one', gone.signal) as Promise<() => void>
  const next = enter('one') as Promise<() => void>
  gone.abort()
  await t.rejects(left, new ClientGone())
  release!()
  ;(await next)()
  t.strictSame(refusals, [])
})
