/** The status of a destination while deliverers answer, are slow, or are away. */
import t from 'tap'
import type { LaneReport, LaneStatus } from '../../../src/delivery/deliver/lane/health.js'
import { noOutcomes } from '../../../src/delivery/wire/delivery-attempts.js'
import { statusesSubject, statusSubject } from '../../../src/delivery/wire/names.js'
import { DeliveryStates, type StatesSettings } from '../../../src/management/operate/delivery-states.js'
import { until } from '../../harness/weir.js'

const lane = (state: LaneStatus['state']): LaneStatus => ({
  state,
  cause: null,
  since: '2026-11-20T10:00:00.000Z',
  last_success_at: null,
  last_error: null,
})

type Answers = readonly (LaneReport | null)[] | undefined

function openStates(settings: Partial<StatesSettings> = {}) {
  const deliverers = { answers: [] as Answers, asks: 0, onAsk: (_ask: number): void => {} }
  const gather = async (): Promise<Uint8Array[] | undefined> => {
    deliverers.asks += 1
    deliverers.onAsk(deliverers.asks)
    await new Promise((resolve) => setTimeout(resolve, 5))
    return deliverers.answers?.map((answer) => Buffer.from(JSON.stringify(answer)))
  }
  const states = new DeliveryStates(gather, settings)
  return { deliverers, ask: () => states.of('ed_1', noOutcomes) }
}

const forEver = 1e9

t.test('the worst state of all replies', async (t) => {
  const { deliverers, ask } = openStates()
  deliverers.answers = [lane('healthy'), null, lane('failing')]
  const before = new Date().toISOString()
  const { state, as_of } = await ask()
  t.equal(state, 'failing')
  t.ok(as_of !== null && as_of >= before)
})

t.test('the rates of all replies together; unknown without any', async (t) => {
  const { deliverers, ask } = openStates()
  deliverers.answers = [{ ...lane('healthy'), rate: 1.004 }, lane('healthy'), { ...lane('healthy'), rate: 2 }]
  t.equal((await ask()).rate, 3)
  deliverers.answers = [lane('healthy')]
  t.equal((await ask()).rate, null, 'an earlier version')
})

t.test('a slow deliverer: the last reported state with its time', async (t) => {
  const { deliverers, ask } = openStates({ freshMs: forEver, silenceMs: forEver })
  deliverers.answers = [lane('throttled')]
  const heard = await ask()
  deliverers.answers = []
  const asks = deliverers.asks
  for (let time = 0; time < 3; time += 1) t.same(await ask(), heard)
  t.equal(deliverers.asks, asks + 3, 'asked each time')
  deliverers.answers = undefined
  t.same(await ask(), heard, 'also while it starts again')
})

t.test('no report yet: asks until a deliverer replies', async (t) => {
  const { deliverers, ask } = openStates({ silenceMs: forEver })
  deliverers.onAsk = (asks) => {
    if (asks === 3) deliverers.answers = [null]
    if (asks === 6) deliverers.answers = [lane('healthy')]
  }
  t.match(await ask(), { state: 'healthy', as_of: String })
  t.equal(deliverers.asks, 6)
})

t.test('a long silence: no deliverer answers, until one does', async (t) => {
  const { deliverers, ask } = openStates({ freshMs: 0, silenceMs: 50 })
  deliverers.answers = [lane('healthy')]
  const { as_of } = await ask()
  deliverers.answers = []
  let status = await ask()
  while (status.state === 'healthy') status = await ask()
  t.match(status, { state: 'paused', cause: 'no deliverer answers', as_of })
  deliverers.answers = [lane('healthy')]
  t.match(await ask(), { state: 'healthy', cause: null })
})

t.test('no subscriber and no report: answered immediately', async (t) => {
  const { deliverers, ask } = openStates({ silenceMs: forEver })
  deliverers.answers = undefined
  t.match(await ask(), { state: 'paused', cause: 'no deliverer answers', as_of: null })
  t.equal(deliverers.asks, 1)
})

t.test('many at once: one question, and another only for those that no deliverer reported', async (t) => {
  const asked: string[] = []
  const gather = async (subject: string, data: string): Promise<Uint8Array[] | undefined> => {
    asked.push(`${subject} ${data}`)
    const answer =
      subject === statusesSubject
        ? { ed_1: lane('failing'), ed_2: lane('healthy'), ed_3: null }
        : lane('throttled')
    return [Buffer.from(JSON.stringify(answer))]
  }
  const states = new DeliveryStates(gather)
  const sinceMs = await states.hear(['ed_1', 'ed_2', 'ed_3'])
  const found = ['ed_1', 'ed_2', 'ed_3'].map((id) => states.of(id, noOutcomes, sinceMs))
  t.strictSame(
    (await Promise.all(found)).map(({ state }) => state),
    ['failing', 'healthy', 'throttled'],
  )
  t.strictSame(asked, [`${statusesSubject} ["ed_1","ed_2","ed_3"]`, `${statusSubject} ed_3`])
})

t.test('the destinations in trouble, with the worst of their states', async (t) => {
  let answers: object[] | undefined = [
    [
      { destination_id: 'ed_1', state: 'throttled' },
      { destination_id: 'ed_2', state: 'failing' },
    ],
    [{ destination_id: 'ed_1', state: 'paused' }],
  ]
  const gather = async () => answers?.map((answer) => Buffer.from(JSON.stringify(answer)))
  const states = new DeliveryStates(gather)
  t.strictSame(
    await states.troubled(),
    new Map([
      ['ed_1', 'paused'],
      ['ed_2', 'failing'],
    ]),
  )
  for (const none of [undefined, []]) {
    answers = none
    t.equal(await states.troubled(), undefined, 'no deliverer')
  }
})

t.test(
  'a silence is looked at until it ends, though no one asks: an answer between two questions ends it',
  async (t) => {
    const { deliverers, ask } = openStates({ freshMs: 0, silenceMs: 1_500 })
    deliverers.answers = [lane('healthy')]
    await ask()
    deliverers.answers = []
    const silent = await ask()
    t.equal(silent.state, 'healthy')
    const askedBefore = deliverers.asks
    deliverers.answers = [lane('healthy')]
    await until('it was looked at', () => deliverers.asks > askedBefore)
    deliverers.answers = []
    t.equal((await ask()).state, 'healthy', 'a new silence begins')
  },
)

t.test(
  'a report from long ago is no state of now: with no answer, it is asked for until the silence is long',
  async (t) => {
    for (const none of [[], undefined]) {
      const { deliverers, ask } = openStates({ freshMs: 0, silenceMs: 30, answerWaitMs: 5 })
      deliverers.answers = [lane('healthy')]
      await ask()
      await new Promise((resolve) => setTimeout(resolve, 40))
      deliverers.answers = none
      t.match(await ask(), { state: 'paused', cause: 'no deliverer answers', as_of: String })
    }
  },
)
