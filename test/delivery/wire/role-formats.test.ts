/** Whom a process that starts waits for, by what it and the others read and write. */
import fc from 'fast-check'
import t from 'tap'
import {
  type Announcement,
  announcementIn,
  announcementOf,
  clauseOf,
  conflictOf,
  obstaclesOf,
  type RoleName,
  silentDeliverer,
} from '../../../src/delivery/wire/role-formats.js'

const own = (role: RoleName): Announcement => announcementOf('own', role, 'starts')

/** A process of another version, which works. */
const another = (role: RoleName, formats: object, more: Partial<Announcement> = {}): Announcement => {
  const { formats: present } = own(role)
  const said = { process: 'another', version: '9.8.7', state: 'works', ...more } as const
  return { role, ...said, formats: { ...present, ...formats } }
}

const [readFrom, written] = own('pipeline').formats['packs']!
const older = [readFrom, written - 1]
const newer = [readFrom, written + 1]
const newerOnly = [written + 1, written + 1]

const cases = [
  { name: 'the same version', role: 'pipeline', other: another('deliver', {}), waits: false },
  { name: 'an older reader', role: 'pipeline', other: another('deliver', { packs: older }), waits: true },
  {
    name: 'an older reader that has not begun',
    role: 'pipeline',
    other: another('deliver', { packs: older }, { state: 'starts' }),
    waits: true,
  },
  {
    name: 'an older reader that waits itself',
    role: 'pipeline',
    other: another('deliver', { packs: older }, { state: 'waits' }),
    waits: false,
  },
  {
    name: 'an older role that has nothing to do with it',
    role: 'pipeline',
    other: another('decide', { packs: older }),
    waits: false,
  },
  {
    name: 'a newer reader of this form',
    role: 'pipeline',
    other: another('deliver', { packs: newer }),
    waits: false,
  },
  {
    name: 'a newer reader that has given this form up',
    role: 'pipeline',
    other: another('deliver', { packs: newerOnly }),
    waits: true,
  },
  { name: 'a newer writer', role: 'deliver', other: another('pipeline', { packs: newer }), waits: true },
  {
    name: 'a newer writer that waits',
    role: 'deliver',
    other: another('pipeline', { packs: newer }, { state: 'waits' }),
    waits: false,
  },
  {
    name: 'a newer writer that has not begun, and will wait',
    role: 'deliver',
    other: another('pipeline', { packs: newer }, { state: 'starts' }),
    waits: false,
  },
  {
    name: 'a reader from before the format',
    role: 'pipeline',
    other: another('deliver', { packs: undefined }),
    waits: true,
  },
  { name: 'a deliverer that says nothing', role: 'pipeline', other: silentDeliverer, waits: true },
  { name: 'the same, for one that writes no packs', role: 'api', other: silentDeliverer, waits: false },
] as const

for (const { name, role, other, waits } of cases)
  t.equal(obstaclesOf(own(role), [other]).length, waits ? 1 : 0, name)

t.test('of two that misunderstand each other, never both wait, and never both work', async (t) => {
  const [one, two] = [own('pipeline'), another('deliver', { packs: older }, { state: 'starts' })]
  const waits = (me: Announcement, other: Announcement) => obstaclesOf(me, [other]).length > 0
  t.ok(waits(one, two), 'the newer one waits')
  t.notOk(waits(two, { ...one, state: 'waits' }), 'the older one begins')
  t.ok(waits(two, { ...one, state: 'works' }), 'unless the newer one has begun')
})

t.test(
  'of any two versions that misunderstand each other and start at the same time, one waits',
  async () => {
    const range = fc.tuple(fc.nat(3), fc.nat(3)).map(([from, more]) => [from, from + more])
    const formats = fc.record(
      Object.fromEntries(Object.keys(own('api').formats).map((name) => [name, range])),
    )
    const role = fc.constantFrom<RoleName>('api', 'pipeline', 'decide', 'deliver')
    const starting = fc.tuple(role, formats).map(([of, all]) => another(of, all, { state: 'starts' }))
    fc.assert(
      fc.property(starting, starting, (one, two) => {
        const [first, second] = [obstaclesOf(one, [two]).length, obstaclesOf(two, [one]).length]
        return first + second === (conflictOf(one, two) === undefined ? 0 : 1)
      }),
    )
  },
)

t.test('a clause names both, and what it is about', async (t) => {
  const [conflict] = obstaclesOf(own('pipeline'), [another('deliver', { packs: older })])
  t.match(
    clauseOf(conflict!),
    /^a deliverer of Weir 9\.8\.7 can't read packs written by a pipeline of Weir \d/,
  )
})

t.test('what is no announcement is none', async (t) => {
  const said = another('deliver', {})
  const read = (value: unknown) => announcementIn(Buffer.from(JSON.stringify(value)))
  t.match(read(said), said)
  for (const [name, value] of Object.entries({
    role: 'x',
    version: 'a\nb',
    state: 'dead',
    formats: null,
    process: 1,
  }))
    t.equal(read({ ...said, [name]: value }), undefined, name)
  t.equal(read({ ...said, waitsFor: 'x'.repeat(2_001) }), undefined, 'a reason without end')
  t.equal(announcementIn(Buffer.from('{')), undefined)
})
