/** `weir doctor`: what each check says of a deployment that is as it should be, and of one that is not. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { ProcessReport } from '../../../src/delivery/wire/process-report.js'
import { reportsIn } from '../../../src/delivery/wire/process-report.js'
import { deferred } from '../../../src/ground/core/concurrency.js'
import { packageFile } from '../../../src/ground/core/package.js'
import { findingLines, overviewLines } from '../../../src/management/operate/doctor/account-checks.js'
import { decidePortLines, trustedProxyLines } from '../../../src/management/operate/doctor/decide-checks.js'
import { Doctor, type DoctorParts } from '../../../src/management/operate/doctor/doctor.js'
import { streamLine } from '../../../src/management/operate/doctor/nats-checks.js'
import {
  clockLines,
  fileLines,
  rightsLines,
  roleLines,
  versionLines,
} from '../../../src/management/operate/doctor/process-checks.js'
import { fileLine, lagLine, lastRecordLine } from '../../../src/management/operate/doctor/traffic-checks.js'
import {
  bounded,
  type DoctorLine,
  doctorChecks,
  doctorLine,
  worstOf,
} from '../../../src/words/shape/doctor.js'

const now = Date.parse('2026-11-20T10:00:00Z')

const report = (role: string, changed: Partial<ProcessReport> = {}): ProcessReport => ({
  role,
  version: '0.1.0',
  build: '0.1.0 (built from a)',
  node: 'v24',
  host: 'one',
  pid: 7,
  startedAtMs: now,
  nowMs: now,
  failing: {},
  filesMax: 65_536,
  filesOpen: 40,
  addresses: {},
  ...changed,
})

const all = ['api', 'pipeline', 'decide', 'deliver'].map((role) => report(role))
const states = (lines: readonly DoctorLine[]) => lines.map(({ state, about }) => [state, about])

t.test('processes', (t) => {
  const clocks = (nowMs: number) =>
    clockLines([report('deliver', { nowMs })], { fromMs: now - 500, untilMs: now + 1_500 })
  const cases: { name: string; lines: DoctorLine[]; want: unknown }[] = [
    { name: 'all roles answer', lines: roleLines(all), want: [['good', null]] },
    { name: 'a role is missing', lines: roleLines(all.slice(0, 3)), want: [['bad', 'deliver']] },
    {
      name: 'one is not ready',
      lines: roleLines([...all, report('pipeline', { pid: 8, failing: { nats: 'Away.' } })]),
      want: [['bad', 'pipeline on one (8)']],
    },
    { name: 'one version', lines: versionLines(all), want: [['good', null]] },
    {
      name: 'two builds of one version',
      lines: versionLines([...all, report('api', { build: 'b' })]),
      want: [['warning', null]],
    },
    { name: 'no version is known', lines: versionLines([]), want: [['not_checked', null]] },
    { name: 'a clock within the time of the question', lines: clocks(now + 1_400), want: [['good', null]] },
    { name: 'a clock 3 s ahead', lines: clocks(now + 4_500), want: [['warning', 'deliver on one (7)']] },
    { name: 'a clock an hour behind', lines: clocks(now - 3_600_000), want: [['bad', 'deliver on one (7)']] },
    { name: 'enough files', lines: fileLines(all), want: [['good', null]] },
    {
      name: 'few files',
      lines: fileLines([report('api', { filesMax: 1_024 })]),
      want: [['warning', 'api on one (7)']],
    },
    {
      name: 'almost all files in use',
      lines: fileLines([report('api', { filesOpen: 60_000 })]),
      want: [['bad', 'api on one (7)']],
    },
    {
      name: 'no system that says it',
      lines: fileLines([report('api', { filesMax: null })]),
      want: [['not_checked', null]],
    },
    {
      name: 'all that processes do is done',
      lines: rightsLines([report('api', { refused: {} }), report('deliver')]),
      want: [['good', null]],
    },
    {
      name: 'a process whose user may not do something',
      lines: rightsLines([
        report('api', { refused: {} }),
        report('deliver', { refused: { WEIR_BOOKS: 'Permissions Violation' } }),
      ]),
      want: [['bad', 'deliver on one (7)']],
    },
    {
      name: 'processes of an earlier version',
      lines: rightsLines([report('api')]),
      want: [['not_checked', null]],
    },
  ]
  for (const { name, lines, want } of cases) t.same(states(lines), want, name)
  t.match(clocks(now - 3_600_000)[0]?.sentence, /3600 s behind/, 'the difference is named, and its direction')
  t.end()
})

t.test('answers that are none are left out', (t) => {
  const answers = ['null', '{}', '7', JSON.stringify(report('api'))].map((text) => Buffer.from(text))
  t.same(
    reportsIn(answers).map(({ role }) => role),
    ['api'],
  )
  t.end()
})

t.test('the port of proxies', async (t) => {
  t.same(states(await decidePortLines(all, 'one')), [['not_checked', null]], 'no one listens')
  const elsewhere = report('decide', { host: 'two', addresses: { decide: 'http://127.0.0.1:1' } })
  t.same(
    states(await decidePortLines([elsewhere], 'one')),
    [['not_checked', 'http://127.0.0.1:1']],
    'it is elsewhere',
  )
  const here = report('decide', { addresses: { decide: 'http://127.0.0.1:1' } })
  t.same(states(await decidePortLines([here], 'one')), [['bad', 'http://127.0.0.1:1']], 'it does not answer')
  t.same(states(trustedProxyLines([here])), [['good', null]])
  const asked = report('decide', { ...here, untrustedProxy: { address: '192.0.2.7', atMs: Date.now() } })
  t.same(states(trustedProxyLines([asked])), [['warning', '192.0.2.7']])
})

t.test('streams', (t) => {
  const info = (changed: { bytes?: number; replicas?: number; current?: boolean }) =>
    ({
      config: { max_bytes: 100 * 1024 ** 2, num_replicas: changed.replicas ?? 1 },
      state: { bytes: changed.bytes ?? 0 },
      ...(changed.current !== undefined && {
        cluster: {
          leader: 'a',
          replicas: [
            { name: 'b', current: changed.current, active: 0 },
            { name: 'c', current: true, active: 0 },
          ],
        },
      }),
    }) as never
  const line = (stream: never, replicas = 1) => streamLine('S', stream, replicas, 1024 ** 2)?.state
  t.equal(streamLine('S', undefined, 1, 1)?.state, 'bad', 'missing')
  t.equal(line(info({})), undefined, 'as it should be')
  t.equal(line(info({ bytes: 90 * 1024 ** 2 })), 'warning', 'nearly full')
  t.equal(line(info({ bytes: 100 * 1024 ** 2 })), 'bad', 'full')
  t.equal(line(info({}), 3), 'warning', 'fewer replicas than the setting')
  t.equal(line(info({ replicas: 3, current: false }), 3), 'warning', 'a replica is not up to date')
  t.equal(line(info({ replicas: 3, current: true }), 3), undefined, 'all replicas are')
  t.end()
})

t.test('traffic', (t) => {
  t.equal(lastRecordLine([], now).state, 'warning', 'there never was a record')
  t.equal(
    lastRecordLine([now - 7_200_000, now - 1_000], now).state,
    'good',
    'the newest of all partitions counts',
  )
  t.equal(lastRecordLine([now - 7_200_000], now).state, 'warning')
  t.equal(lagLine({ messages: 5, oldestAtMs: now - 5_000 }, now).state, 'good')
  t.equal(lagLine({ messages: 5, oldestAtMs: now - 60_000 }, now).state, 'bad')
  t.equal(fileLine('/x.mmdb', 'City', now - 30 * 86_400_000, now).state, 'good')
  t.equal(fileLine('/x.mmdb', 'City', now - 400 * 86_400_000, now).state, 'warning')
  t.end()
})

t.test('accounts', (t) => {
  const attention = (type: string, severity: string, scope = 'account') => ({
    type,
    severity,
    scope,
    sentence: `${type}.`,
  })
  const overview = {
    attention: [
      attention('destination_failing', 'failing'),
      attention('certificates_expiring', 'attention'),
      attention('dead_letters', 'notice'),
      attention('unserved_names', 'attention', 'deployment'),
      attention('records_lag', 'attention'),
    ],
    unknown: [{ part: 'unserved_names', reason: 'ClickHouse is away.' }],
  }
  const lines = overviewLines('ac_1')(overview as never).map(({ check, state }) => [check, state])
  t.same(lines, [
    ['destinations', 'bad'],
    ['certificates', 'warning'],
    ['unserved_names', 'not_checked'],
  ])
  const findings = {
    findings: [
      { kind: 'edge_open', severity: 'attention', sentence: 'Open.' },
      { kind: 'key_unused', severity: 'notice', sentence: 'Unused.' },
    ],
    kinds: [
      { kind: 'edge_open', found: 3, unknown: null },
      { kind: 'key_unused', found: 1, unknown: null },
      { kind: 'rule_never_matched', found: 0, unknown: 'No log.' },
    ],
  }
  const found = findingLines('ac_1')(findings as never).map(({ state, sentence }) => [state, sentence])
  t.same(found, [
    ['warning', '3 findings of the kind edge_open. The first: Open.'],
    ['not_checked', 'rule_never_matched: No log.'],
  ])
  t.end()
})

t.test('the whole is as bad as its worst line; what was not checked is no good sign and no bad one', (t) => {
  const line = (state: DoctorLine['state']) => doctorLine('nats', state, 'x')
  t.equal(worstOf([line('good'), line('not_checked')]), 'good')
  t.equal(worstOf([line('good'), line('warning')]), 'warning')
  t.equal(worstOf([line('warning'), line('bad'), line('good')]), 'bad')
  const many = bounded('nats', [...Array.from({ length: 30 }, () => line('warning')), line('bad')])
  t.equal(many.length, 21)
  t.equal(many[0]?.state, 'bad', 'the worst are listed')
  t.match(many.at(-1)?.sentence, /^11 more/)
  t.end()
})

t.test('a check that hangs is given up, is not begun twice, and says so; the others are made', async (t) => {
  let asked = 0
  const answer = deferred()
  const away = async (): Promise<never> => {
    throw new Error('http://weir:the-password@clickhouse said planted-secret.')
  }
  const parts = {
    nats: {
      isConnected: false,
      gather: () => {
        asked += 1
        return answer.promise.then(() => [])
      },
    },
    clickhouse: { rows: away },
    stateOf: () => {
      throw new Error('Nothing is read yet.')
    },
    geo: { files: [] },
  } as unknown as DoctorParts
  const looker = new Doctor(parts, { secrets: () => ['planted-secret'], checkWithinMs: 300 })
  const lines = async (check: string) =>
    (await looker.report()).lines
      .filter((line) => line.check === check)
      .map(({ state, sentence }) => [state, sentence])
  for (const check of ['processes', 'versions', 'clocks', 'open_files', 'decide_port', 'trusted_proxies'])
    t.strictSame(
      await lines(check),
      [['not_checked', 'It was not checked: there was no answer within 0.3 s.']],
      check,
    )
  t.equal(asked, 1, 'the first look is still under way')
  t.match(await lines('nats'), [['bad', /lost/]])
  t.strictSame(
    await lines('clickhouse'),
    [['bad', 'ClickHouse does not answer: http://…@clickhouse said ….']],
    'what others say is searched for secrets',
  )
  const [one, other] = await Promise.all([looker.recent(), looker.recent()])
  t.equal(one, other, 'callers share a report')
  t.equal(await looker.recent(), one, 'and later ones get it for some seconds')
  t.not(await looker.report(), one, 'the command gets one of its own')
  answer.resolve()
  t.match(await lines('versions'), [['not_checked', /No process answers/]])
  t.match(await lines('processes'), [['bad'], ['bad'], ['bad'], ['bad']])
  t.equal(asked, 2, 'then it is looked at again')
})

t.test('the documents have a section for each check', (t) => {
  const headings = readFileSync(packageFile('docs', 'doctor.md'), 'utf8').match(/^### .*$/gm) ?? []
  const anchors = headings.map((heading) => heading.slice(4).toLowerCase().replaceAll(' ', '-'))
  t.same(anchors.toSorted(), doctorChecks.map((check) => check.replaceAll('_', '-')).toSorted())
  t.end()
})
