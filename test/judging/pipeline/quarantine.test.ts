/** Quarantine finds the records that crash a process, and only those. */
import { fork } from 'node:child_process'
import t from 'tap'
import { Quarantine, withoutLines } from '../../../src/judging/pipeline/quarantine.js'
import { compiled } from '../../harness/processes.js'

let forks = 0
const open = (program = 'test/judging/pipeline/quarantine-victim.js') =>
  new Quarantine({
    fork: () => {
      forks += 1
      return fork(compiled(program), {
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
    },
    readyWithinMs: 20_000,
    recordWithinMs: 700,
  })

const cases = [
  { name: 'none', lines: ['a', 'b', '', 'c'], culprits: [], forks: 1 },
  { name: 'one that kills', lines: ['a', 'kills', 'b'], culprits: [[2, /SIGKILL/]], forks: 2 },
  { name: 'one that exits, the last', lines: ['a', 'exits'], culprits: [[2, /exit code 3/]], forks: 1 },
  { name: 'one that throws', lines: ['throws', 'a'], culprits: [[1, /exit code/]], forks: 2 },
  { name: 'one that hangs', lines: ['a', 'hangs', 'b'], culprits: [[2, /no answer in time/]], forks: 2 },
  {
    name: 'several',
    lines: ['kills', 'a', '', 'exits'],
    culprits: [
      [1, /SIGKILL/],
      [4, /code 3/],
    ],
    forks: 2,
  },
] as const

for (const { name, lines, culprits, forks: forksExpected } of cases) {
  t.test(`culprit: ${name}`, async (t) => {
    const quarantine = open()
    t.teardown(() => quarantine.close())
    forks = 0
    const message = Buffer.from(lines.join('\n'))
    const found = await quarantine.culpritsIn(message)
    t.equal(found.length, culprits.length)
    for (const [at, [line, reason]] of culprits.entries()) {
      t.equal(found[at]?.line, line)
      t.match(found[at]?.reason, reason)
    }
    t.equal(forks, forksExpected, 'a child serves until it dies')
    const rest = Buffer.from(withoutLines(message, found)).toString().split('\n')
    const expected = lines.map((text, at) =>
      found.some(({ line }) => line === at + 1) ? ' '.repeat(text.length) : text,
    )
    t.strictSame(rest, expected, 'the others keep their lines')
  })
}

t.test('messages of several partitions at the same time: each gets its own verdict', async (t) => {
  const quarantine = open()
  t.teardown(() => quarantine.close())
  const messages = ['a\nb', 'c\nkills\nd', 'e', 'hangs\nf', 'g\nh'].map((text) => Buffer.from(text))
  const found = await Promise.all(messages.map((message) => quarantine.culpritsIn(message)))
  t.strictSame(
    found.map((culprits) => culprits.map(({ line }) => line)),
    [[], [2], [], [1], []],
  )
})

t.test('without a child there is no verdict: the message is retried later', async (t) => {
  await t.rejects(
    open('test/judging/pipeline/no-such-program.js').culpritsIn(Buffer.from('a')),
    /did not become ready/,
  )
})
