import { type ChildProcess, fork, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { processStart } from '../../../src/delivery/nats-server/process-start.mjs'
import { StartFault } from '../../../src/ground/core/errors.js'
import { ownFormat } from '../../../src/ground/core/files/data-format.js'
import { lockDataDir } from '../../../src/management/process/lock.js'
import { compiled } from '../../harness/processes.js'

const rivalProgram = compiled('test/management/process/lock-rival.js')

t.test('a data directory has one holder, who is named to the others', async (t) => {
  const dir = join(t.testdir(), 'new', 'data')
  const lock = lockDataDir(dir)
  const refusal = thrown(() => lockDataDir(dir))
  t.ok(refusal instanceof StartFault)
  t.match(refusal?.message, `in use by process ${process.pid}.`)
  t.equal(statSync(dir).mode & 0o777, 0o700, 'made for its owner alone')
  lock.close()
  lockDataDir(dir).close()
  t.strictSame(readdirSync(dir), ['format.json'], 'nothing else is left behind')
})

t.test('a data directory of a later version is left as it is, and free', (t) => {
  const cases: [name: string, text: string, says: RegExp][] = [
    [
      'later',
      '{"format": 2, "version": "9.8.7"}',
      /written by Weir 9\.8\.7 in format 2, .*Start Weir 9\.8\.7 or later\. To go back/,
    ],
    ['damaged', '{"format"', /does not say which format the data directory has/],
    ['foreign', '[]', /does not say which format/],
    ['empty', '', /does not say which format/],
  ]
  for (const [name, text, says] of cases) {
    const dir = t.testdir({ 'format.json': text })
    for (const turn of ['first', 'again']) {
      const refusal = thrown(() => lockDataDir(dir))
      t.ok(refusal instanceof StartFault, `${name}, ${turn}`)
      t.match(refusal?.message, says, `${name}, ${turn}`)
    }
    t.strictSame(readdirSync(dir), ['format.json'], name)
    t.equal(readFileSync(join(dir, 'format.json'), 'utf8'), text, name)
  }
  t.end()
})

t.test(
  'a data directory of an earlier version, or from before there were formats, gets the present one',
  (t) => {
    for (const files of [{}, { 'format.json': '{"format": 0, "version": "0.0.1"}' }]) {
      const dir = t.testdir(files)
      lockDataDir(dir).close()
      t.strictSame(JSON.parse(readFileSync(join(dir, 'format.json'), 'utf8')), ownFormat)
    }
    t.end()
  },
)

const stale = [
  { name: 'a process that no longer runs', holder: '999999999 1 1' },
  { name: 'another process that was given the same number', holder: `${process.pid} 1 1` },
  { name: 'nobody', holder: '' },
  { name: 'something else', holder: 'what is this' },
]

t.test('a lock left behind is taken over', (t) => {
  for (const { name, holder } of stale) {
    const dir = t.testdir({ 'weir.lock': holder })
    const lock = lockDataDir(dir)
    t.throws(() => lockDataDir(dir), { message: /in use by process/ }, `${name}: held now`)
    lock.close()
    t.notOk(existsSync(join(dir, 'weir.lock')), name)
  }
  t.end()
})

t.test('closing a lock that another holds by now leaves it alone', (t) => {
  const dir = t.testdir()
  const lock = lockDataDir(dir)
  const others = `${process.ppid} ${processStart(process.ppid)} 1`
  writeFileSync(join(dir, 'weir.lock'), others)
  lock.close()
  t.match(
    thrown(() => lockDataDir(dir)),
    { message: `in use by process ${process.ppid}.` },
  )
  t.end()
})

t.test('of several that take over the same stale lock at once, one gets it', async (t) => {
  for (let round = 0; round < 2; round += 1) {
    const path = join(t.testdir({ 'weir.lock': '999999999 1 1' }), 'weir.lock')
    const rivals = Array.from({ length: 5 }, () => fork(rivalProgram, [path], { execArgv: [] }))
    await Promise.all(rivals.map(message))
    const answers = rivals.map(message)
    for (const process of rivals) process.send('go')
    const held = (await Promise.all(answers)) as { held: boolean }[]
    t.equal(held.filter((answer) => answer.held).length, 1, `round ${round}`)
    await Promise.all(rivals.map(kill))
  }
})

t.test('the start of a process', async (t) => {
  t.equal(processStart(process.pid), processStart(process.pid), 'does not change')
  t.type(processStart(process.pid), 'string')
  const child = spawn('sleep', ['60'])
  const pid = child.pid ?? 0
  t.type(processStart(pid), 'string')
  await kill(child)
  for (const gone of [pid, 0, -1, 999_999_999, Number.NaN])
    t.equal(processStart(gone), undefined, String(gone))
})

function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('message', resolve))
}

function kill(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => {
    child.once('exit', resolve)
    child.kill('SIGKILL')
  })
}

function thrown(act: () => unknown): Error | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return error as Error
  }
}
