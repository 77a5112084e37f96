/** Critical options and extensions of user certificates: which a server would understand. */
import t from 'tap'
import { compileCheck } from '../../../../src/ground/core/schema-check.js'
import { sshOptionFields } from '../../../../src/words/resource/fields/ssh-certificate-options.js'

type Cases = readonly [options: Readonly<Record<string, string>>, refusal: RegExp | undefined][]

const critical: Cases = [
  [{}, undefined],
  [{ 'force-command': 'uptime' }, undefined],
  [{ 'force-command': '' }, /needs a command/],
  [{ 'force-command': 'a\0b' }, /zero byte/],
  [{ 'source-address': '192.0.2.1,2001:db8::/32' }, undefined],
  [{ 'source-address': '192.0.2.1, 192.0.2.2' }, /separated by commas/],
  [{ 'source-address': '192.0.2.1/24' }, /separated by commas/],
  [{ 'source-address': '' }, /separated by commas/],
  [{ 'verify-required': '' }, undefined],
  [{ 'verify-required': 'yes' }, /takes no value/],
  [{ 'permit-pty': '' }, /servers refuse a certificate with the option "permit-pty"/],
  [{ 'own@example.com': 'anything' }, undefined],
  [{ 'a@b@c': '' }, /servers refuse/],
  [{ 'two words@example.com': '' }, /printable characters/],
]

const extensions: Cases = [
  [{ 'permit-pty': '' }, undefined],
  [{ 'permit-pty': 'yes' }, /takes no value/],
  [{ 'permit-unknown': 'x' }, undefined],
  [{ 'login@github.com': 'alice' }, undefined],
  [{ '': '' }, /printable characters/],
  [{ ['x'.repeat(256)]: '' }, /1 to 255/],
  [Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`a${index}@b`, ''])), /at most 20/],
]

for (const [name, field, cases] of [
  ['critical options', sshOptionFields.critical_options, critical],
  ['extensions', sshOptionFields.extensions, extensions],
] as const)
  t.test(name, async (t) => {
    const check = compileCheck(field.schema)
    for (const [options, refusal] of cases) {
      const found = check(options, 'options')
      const text = JSON.stringify(options).slice(0, 60)
      if (refusal === undefined) t.equal(found, undefined, text)
      else t.match(found, refusal, text)
    }
  })
