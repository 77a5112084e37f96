/** Common names out of the names of certificates. */
import fc from 'fast-check'
import t from 'tap'
import { commonNameOf } from '../../../../src/ground/core/text/distinguished-name.js'

const cases = [
  { name: 'CN=alice,O=Example', is: 'alice' },
  { name: 'O=Example,CN=alice', is: 'alice' },
  { name: String.raw`CN=Doe\, John,O=x`, is: 'Doe, John' },
  { name: String.raw`CN=a\=b\+c\"d\\e\<f\>g\;h,O=x`, is: 'a=b+c"d\\e<f>g;h' },
  { name: String.raw`CN=caf\C3\A9 \E2\82\AC,O=x`, is: 'café €' },
  { name: 'CN=café,O=x', is: 'café' },
  { name: String.raw`CN=\ a b\ ,O=x`, is: ' a b ' },
  { name: String.raw`CN=\#1,O=x`, is: '#1' },
  { name: String.raw`CN=a\\  ,O=x`, is: 'a\\' },
  { name: 'O="x, CN=no",CN="Doe, John"', is: 'Doe, John' },
  { name: String.raw`CN="a \"b\" \\ + c"`, is: 'a "b" \\ + c' },
  { name: String.raw`O=x\,CN=no,CN=yes`, is: 'yes' },
  { name: 'UID=7+CN=multi+OU=x,O=y', is: 'multi' },
  { name: 'O=x; CN = spaced ; C=US', is: 'spaced' },
  { name: 'emailAddress=a@b.example,cn=small', is: 'small' },
  { name: '2.5.4.3=number,O=x', is: 'number' },
  { name: 'OID.2.5.4.3=number', is: 'number' },
  { name: 'CN=#0C0B446F652C204A6FC3A96C65,O=x', is: 'Doe, Joéle' },
  { name: 'CN=#1E0400410042', is: 'AB' },
  { name: 'CN=#04024142', is: '#04024142' },
  { name: 'CN=device,CN=group,O=x', is: 'device' },
  { name: 'CN=,O=x', is: '' },
  { name: 'SCN=no,OU=CN=no,O=x', is: undefined },
  { name: 'O=x', is: undefined },
  { name: '', is: undefined },
  { name: '/C=US/O=x/CN=Doe, John', is: 'Doe, John' },
  { name: '/O=x/CN=http/www.example.com/emailAddress=a@b.example', is: 'http/www.example.com' },
  { name: String.raw`/O=x/CN=caf\xC3\xA9`, is: 'café' },
  { name: String.raw`/O=x/CN=a\/CN=b\+c\d`, is: 'a/CN=b+c\\d' },
  { name: '/DC=org/CN=Users/CN=alice', is: 'alice' },
]

t.test('the common name of a certificate', async (t) => {
  for (const { name, is } of cases) t.equal(commonNameOf(name), is, name)
})

/** As RFC 2253, section 2.4, says. */
const escaped = (value: string): string =>
  value
    .replaceAll(/[,+"\\<>;=]/g, String.raw`\$&`)
    .replace(/^[# ]/, String.raw`\$&`)
    .replace(/(?<=.) $/s, String.raw`\ `)

t.test('any text is read as it was written', async (t) => {
  const value = fc.string({
    unit: fc.oneof(
      fc.constantFrom(...'\\,+"#; =<>/CN'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    ),
  })
  fc.assert(
    fc.property(value, value, (name, other) => {
      // A value of spaces alone has its last one escaped, and loses those before it to the separator.
      fc.pre(!/^\s|\s\s$/.test(name) && !/^\s/.test(other))
      t.equal(commonNameOf(`O=${escaped(other)},CN=${escaped(name)},C=US`), name)
    }),
  )
})
