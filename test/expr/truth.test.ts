/** What is known of an expression without a record. */
import t from 'tap'
import { truthOf } from '../../src/expr/expression.js'
import type { Truth } from '../../src/expr/truth.js'
import { policyScopes } from '../../src/record/policy-scope.js'

const expressions: readonly [text: string, want: Truth | undefined][] = [
  ['true', 'always'],
  ['false', 'never'],
  ['1 == 2', 'never'],
  ["'a' in ['a', 'b']", 'always'],
  ["'10.1.2.3'|inCidrRange('10.0.0.0/8')", 'always'],
  ['0', 'never'],
  ["''", 'never'],
  ['conn.server_port == 22', undefined],
  ['conn.server_port == 22 && false', 'never'],
  ['false && conn.server_port == 22', 'never'],
  ['true || conn.server_port == 22', 'always'],
  ['true && conn.server_port == 22', undefined],
  ['false || conn.server_port == 22', undefined],
  ['!(conn.server_port == 22)', undefined],
  ['!(false && conn.server_port == 22)', 'always'],
  // The first part may fail, and then the whole does.
  ['conn.server_port == 22 || true', undefined],
  ['!(conn.server_port == 22 && false)', undefined],
  ['true ? conn.server_port == 22 : true', undefined],
  ['false ? conn.server_port == 22 : true', 'always'],
  ['conn.server_port == 22 ? true : true', undefined],
  ['no.such.name', undefined],
]

for (const [text, want] of expressions)
  t.test(text, async (t) => {
    t.equal(truthOf(text, policyScopes.tcp_connection.inbound), want)
  })
