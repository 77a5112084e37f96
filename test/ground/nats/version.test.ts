/** Versions of nats-server: which a client can crash, which lack fixes, and which have a feature. */
import fc from 'fast-check'
import t from 'tap'
import {
  crashesOnWildcardReply,
  outdatedBecause,
  supports,
} from '../../../src/ground/nats/server-versions.js'

const cases: readonly (readonly [version: unknown, crashes: boolean])[] = [
  ['2.9.10', true],
  ['2.9.14', true],
  ['v2.9.14', true],
  ['2.9.14-RC.3', true],
  ['2.8.99', true],
  ['1.99.99', true],
  ['2.9.15-beta.1', true],
  ['2.9.15', false],
  ['v2.9.15', false],
  ['2.9.15+build.7', false],
  ['2.9.25', false],
  ['2.10.0', false],
  ['2.10.0-beta.1', false],
  ['2.15.1', false],
  ['3.0.0', false],
  ['dev', false],
  ['2.9', false],
  ['', false],
  [undefined, false],
  [null, false],
  [2.9, false],
  [{}, false],
]

t.test('versions', (t) => {
  for (const [version, crashes] of cases) t.equal(crashesOnWildcardReply(version), crashes, String(version))
  t.end()
})

t.test('versions compare by their numbers, whatever follows them', (t) => {
  const part = fc.nat(30)
  fc.assert(
    fc.property(part, part, part, fc.string(), (major, minor, patch, rest) => {
      const isOlder = major * 10_000 + minor * 100 + patch < 20_915
      fc.pre(!/^\d/.test(rest) && (isOlder || !rest.startsWith('-')))
      return crashesOnWildcardReply(`${major}.${minor}.${patch}${rest}`) === isOlder
    }),
  )
  t.end()
})

t.test('versions with the fixes of published faults', (t) => {
  const outdated = [
    '2.9.14',
    '2.9.25',
    '2.10.29',
    '2.11.17',
    '2.12.11',
    '2.12.12-RC.1',
    '2.13.9',
    '2.14.2',
    '1.4.1',
  ]
  const current = [
    '2.12.12',
    'v2.12.14',
    '2.14.3',
    '2.15.0',
    'v2.15.2',
    '2.16.0-preview.1',
    '3.0.0',
    'dev',
    undefined,
  ]
  for (const version of outdated) t.type(outdatedBecause(version), 'string', version)
  for (const version of current) t.equal(outdatedBecause(version), undefined, String(version))
  t.match(outdatedBecause('2.9.10'), /Any client can crash it/)
  t.match(outdatedBecause('2.12.3'), /2\.12\.12, 2\.14\.3 and 2\.15\.0 or newer/)
  t.end()
})

t.test('a feature', (t) => {
  for (const version of ['2.10.0', '2.10.29', '2.15.2', '3.0.0'])
    t.ok(supports(version, 'syncAlways'), version)
  for (const version of ['2.9.25', '2.10.0-beta.1', 'dev', undefined])
    t.notOk(supports(version, 'syncAlways'), String(version))
  t.end()
})
