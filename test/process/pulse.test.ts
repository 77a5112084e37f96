/** When the other side counts as lost, and when not. */
import t from 'tap'
import { Pulse, pulseLimits } from '../../src/process/pulse.js'

/** Answers as the script says, one element for each question; the last one for all further questions. */
function scripted(answers: readonly ('good' | 'bad' | 'silent')[]) {
  let asked = 0
  const waiting = new Map<number, () => void>()
  const ask = async (): Promise<number> => {
    asked += 1
    for (const [count, resolve] of waiting) if (asked > count) resolve()
    const answer = answers[Math.min(asked, answers.length) - 1]
    if (answer === 'silent') return new Promise(() => {})
    if (answer === 'bad') throw new Error(`refusal ${asked}`)
    return asked
  }
  /** Resolves when this many questions have been answered, because the next one is asked. */
  const answered = (count: number) => new Promise<void>((resolve) => waiting.set(count, resolve))
  return { ask, answered }
}

t.test('silence is noticed within the 5 s that /readyz promises', (t) => {
  /** The longest time from when the other side falls silent until `lost` reports it. */
  const silenceNoticedMs = pulseLimits.everyMs + pulseLimits.missesMax * pulseLimits.answerMs
  // Half a second for the supervisor's own question, and for a busy machine.
  t.ok(silenceNoticedMs + pulseLimits.everyMs <= 4_500)
  t.end()
})

const cases = [
  { name: 'good answers', answers: ['good'], after: 2, lost: undefined },
  {
    name: 'two missed in a row, then a good one',
    answers: ['bad', 'silent', 'good'],
    after: 3,
    lost: undefined,
  },
  {
    name: 'missed ones that are not in a row',
    answers: ['bad', 'bad', 'good', 'bad', 'bad'],
    after: 5,
    lost: undefined,
  },
  { name: 'refused three times', answers: ['good', 'bad'], after: 4, lost: 'refusal 4' },
  { name: 'silent three times', answers: ['silent'], after: 3, lost: 'no answer within 1 s' },
] as const

for (const { name, answers, after, lost } of cases) {
  t.test(name, async (t) => {
    const { ask, answered } = scripted(answers)
    const done = answered(after)
    const pulse = new Pulse(ask)
    t.teardown(() => pulse.close())
    await done
    t.equal(pulse.lost, lost)
  })
}

t.test('an answer ends the loss', async (t) => {
  const { ask, answered } = scripted(['bad', 'bad', 'bad', 'good'])
  const lost = answered(3)
  const back = answered(4)
  const pulse = new Pulse(ask)
  t.teardown(() => pulse.close())
  await lost
  t.equal(pulse.lost, 'refusal 3')
  t.equal(pulse.answer, undefined)
  await pulse.first
  await back
  t.equal(pulse.lost, undefined)
  t.ok(pulse.answer! >= 4)
})
