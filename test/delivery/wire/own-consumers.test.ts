/** When destinations share consumers, while their number wavers. */
import t from 'tap'
import { Sharing } from '../../../src/delivery/wire/own-consumers.js'

const course = (sharing: Sharing, counts: readonly number[]) => counts.map((count) => sharing.isOn(count))

t.test('it goes on past the most, and off again only when there are clearly fewer', async (t) => {
  for (const isOnBetween of [true, false]) {
    const sharing = new Sharing(1_000, isOnBetween)
    t.strictSame(course(sharing, [0, 1, 899, 950, 1_000]), [false, false, false, false, false])
    t.strictSame(course(sharing, [1_001, 1_000, 1_001, 900]), [true, true, true, true])
    t.strictSame(course(sharing, [899, 1_000, 900]), [false, false, false])
  }
})

t.test('a process that starts in between fits those that run', async (t) => {
  t.strictSame(
    course(new Sharing(1_000, true), [0, 950, 899, 950]),
    [false, true, false, false],
    'a pipeline',
  )
  t.strictSame(
    course(new Sharing(1_000, false), [0, 950, 1_001, 950]),
    [false, false, true, true],
    'a deliverer',
  )
})

t.test('none has its own, if none may', async (t) => {
  t.strictSame(course(new Sharing(0, false), [0, 1, 2]), [false, true, true])
})
