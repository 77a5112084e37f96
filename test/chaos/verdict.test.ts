/** The judge is not blind: whatever is done to what arrived, or to the books, is found. */
import t from 'tap'
import { Issue, isNarrow, narrowOf } from './issue.js'
import { arrivalsOf, type Books, brokenDuties, brokenEquations, type Owed } from './verdict.js'

const accountId = 'ac_01M8S20G22FQ54FGDE4G0ER4DJ'
const issued = 200
const parts = { purpose: '0123456789abcdef', storedAt: '2026-12-01T10:00:00.000Z' }

const issue = new Issue(7, 'judged', Date.parse('2026-12-01T12:00:00Z'))
const allRight = (): string[] => Array.from({ length: issued }, (_, n) => issue.event(n, accountId, parts))

const judged = (arrived: readonly string[], repeatsMax = 0, owed = (_: number) => true): string[] => {
  const duty = { destination: 'http', issued, isAllowed: () => true, isOwed: owed, repeatsMax }
  return brokenDuties([arrivalsOf({ issue, accountId, storedAt: new Map() }, duty, arrived)])
}

const [first = '', , third = ''] = allRight()
const withEvent = (change: (event: string) => string): string[] => allRight().with(3, change(allRight()[3]!))

const tampered: readonly [name: string, arrived: readonly string[], says: RegExp][] = [
  ['an event is dropped', allRight().toSpliced(3, 1), /^http: lost are the events of 1, such as 3$/],
  ['the last one is', allRight().slice(0, -1), /lost .* 199$/],
  ['nothing arrives', [], /lost are the events of 200, such as 0; 1; 2$/],
  [
    'a byte is altered',
    withEvent((event) => event.replace('203.0.', '203.1.')),
    /other bytes have 1, such as/,
  ],
  ['an id is', withEvent((event) => event.replace(/ev_../, 'ev_zz')), /other bytes have 1/],
  [
    'the part of its subscription is',
    withEvent((event) => event.replace('0123456789', '1123456789')),
    /other bytes/,
  ],
  ['a space is added', withEvent((event) => `${event} `), /other bytes have 1/],
  ['its time is', [...allRight(), first.replace('10:00:00.000', '10:00:00.001')], /other bytes have 1/],
  ['an account is', withEvent((event) => event.replace('ac_01M8', 'ac_01M9')), /other bytes have 1/],
  ['one is torn', withEvent((event) => event.slice(0, -1)), /other bytes have 1/],
  [
    'an event is invented',
    [...allRight(), issue.event(issued, accountId, parts)],
    /nobody issued 1, such as/,
  ],
  ['one without a number is', [...allRight(), '{"event_id":"ev_1"}'], /nobody issued 1/],
  ['an event is doubled', [...allRight(), third], /1 repeats, the bound is 0$/],
  ['one takes the place of another', allRight().with(3, third), /lost are the events of 1, such as 3/],
]

t.test('what arrived', (t) => {
  t.strictSame(judged(allRight()), [], 'nothing is wrong')
  t.strictSame(judged(allRight().toReversed()), [], 'in any order')
  t.strictSame(judged([...allRight(), third], 1), [], 'a repeat within the bound')
  t.strictSame(
    judged(allRight().toSpliced(3, 1), 0, (n) => n !== 3),
    [],
    'no one acknowledged what is missing',
  )
  const duty = { destination: 'http', issued, isAllowed: () => true, isOwed: () => true, repeatsMax: 0 }
  const excused = { ...duty, isExcused: (n: number) => n === 3 }
  const origin = { issue, accountId, storedAt: new Map<number, string>() }
  t.match(
    arrivalsOf(origin, excused, allRight().toSpliced(3, 2)),
    { lost: [4], excused: 1 },
    'one may be missing',
  )
  for (const [name, arrived, says] of tampered) t.match(judged(arrived).join('\n'), says, name)
  t.end()
})

t.test('a destination gets what it may not have', (t) => {
  const duty = { destination: 'nats', issued, isAllowed: isNarrow, isOwed: isNarrow, repeatsMax: 0 }
  const origin = { issue, accountId, storedAt: new Map<number, string>() }
  const narrow = allRight().filter((_, n) => isNarrow(n))
  t.equal(narrow.length, narrowOf(issued))
  t.strictSame(brokenDuties([arrivalsOf(origin, duty, narrow)]), [])
  t.match(brokenDuties([arrivalsOf(origin, duty, [...narrow, first])]), [/^nats: nobody issued 1/])
  t.end()
})

t.test('one destination has other bytes than another', (t) => {
  const storedAt = new Map<number, string>()
  const duty = { issued, isAllowed: () => true, isOwed: () => true, repeatsMax: 0 }
  const later = allRight().map((event) => event.replace('10:00:00.000', '10:00:00.001'))
  const arrivals = [
    arrivalsOf({ issue, accountId, storedAt }, { ...duty, destination: 'file' }, allRight()),
    arrivalsOf({ issue, accountId, storedAt }, { ...duty, destination: 's3' }, later),
  ]
  t.match(brokenDuties(arrivals).join('\n'), /s3: other bytes have 200/)
  t.end()
})

const right: Books = {
  in: 103,
  evaluated: 100,
  bad: 3,
  history: 0,
  destinations: [
    {
      destination: 'file',
      produced: 100,
      filtered: 0,
      delivered: 99,
      deadLettered: 1,
      dropped: 0,
      backlog: 0,
    },
    {
      destination: 'http',
      produced: 75,
      filtered: 25,
      delivered: 75,
      deadLettered: 0,
      dropped: 0,
      backlog: 0,
    },
  ],
}
const owed: Owed = { records: 100, bad: 3, events: new Map([['file', 100], ['http', 75]]), deadLettered: 1 } // biome-ignore format: a row

t.test('the books', (t) => {
  t.strictSame(brokenEquations(right, owed), [], 'they balance')
  for (const sum of ['in', 'evaluated', 'bad', 'history'] as const)
    t.not(brokenEquations({ ...right, [sum]: right[sum] + 1 }, owed).length, 0, `${sum} is one more`)
  for (const [at, each] of right.destinations.entries())
    for (const sum of ['produced', 'filtered', 'delivered', 'deadLettered', 'dropped', 'backlog'] as const) {
      const destinations = right.destinations.with(at, { ...each, [sum]: each[sum] + 1 })
      t.not(
        brokenEquations({ ...right, destinations }, owed).length,
        0,
        `${each.destination}: ${sum} is one more`,
      )
    }
  const balanced = right.destinations.with(1, {
    ...right.destinations[1]!,
    produced: 74,
    delivered: 74,
    filtered: 26,
  })
  t.match(
    brokenEquations({ ...right, destinations: balanced }, owed),
    [/^http: produced is what it is owed: 74 is not 75$/],
    'equal in themselves, and not what was owed',
  )
  t.end()
})
