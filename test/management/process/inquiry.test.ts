/** When the other side counts as lost, when not, and that it is asked only when somebody wants to know. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Inquiry, inquiryLimits, inquiryMaxMs } from '../../../src/management/process/inquiry.js'
import { childAnswerMs, parentAnswerMs } from '../../../src/management/process/supervisor.js'

type Answer = 'good' | 'bad' | 'silent'

/** Answers as the script says, one element for each question; the last one for all further questions. */
function scripted(answers: readonly Answer[]) {
  const asked = { times: 0 }
  const ask = async (): Promise<number> => {
    asked.times += 1
    const answer = answers[Math.min(asked.times, answers.length) - 1]
    if (answer === 'silent') return new Promise(() => {})
    if (answer === 'bad') throw new Error(`refusal ${asked.times}`)
    return asked.times
  }
  return { inquiry: new Inquiry(ask), asked }
}

t.test('silence is noticed within the 5 s that /readyz promises', (t) => {
  t.ok(inquiryMaxMs < childAnswerMs && childAnswerMs < parentAnswerMs, 'each waits for the next to find out')
  // Half a second for a busy machine.
  t.ok(inquiryLimits.freshMs + parentAnswerMs <= 4_500)
  t.end()
})

const cases: readonly (readonly [string, readonly Answer[], object])[] = [
  ['a good answer', ['good'], { answer: 1 }],
  ['two missed in a row, then a good one', ['bad', 'silent', 'good'], { answer: 3 }],
  ['refused three times', ['bad'], { lost: 'refusal 3' }],
  ['silent three times', ['silent'], { lost: 'no answer within 1 s' }],
]

for (const [name, answers, outcome] of cases) {
  t.test(name, async (t) => {
    const { inquiry } = scripted(answers)
    t.teardown(() => inquiry.close())
    t.strictSame(await inquiry.now(), outcome)
  })
}

t.test('nobody is asked twice within a short time, nor without need', async (t) => {
  const { inquiry, asked } = scripted(['good'])
  t.teardown(() => inquiry.close())
  t.equal(asked.times, 0)
  const both = await Promise.all([inquiry.now(), inquiry.now()])
  t.strictSame([...both, await inquiry.now()], Array(3).fill({ answer: 1 }))
  await sleep(inquiryLimits.freshMs + 50)
  t.equal(asked.times, 1)
  t.strictSame(await inquiry.now(), { answer: 2 })
})

t.test('an answer ends the loss', async (t) => {
  const { inquiry } = scripted(['bad', 'bad', 'bad', 'good'])
  t.teardown(() => inquiry.close())
  t.strictSame(await inquiry.now(), { lost: 'refusal 3' })
  await inquiry.first()
  t.strictSame(await inquiry.now(), { answer: 4 })
})
