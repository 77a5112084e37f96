/** Versions of nats-server that a client can crash. */
import fc from 'fast-check'
import t from 'tap'
import { crashesOnWildcardReply } from '../../src/nats/server-2-9.js'

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
