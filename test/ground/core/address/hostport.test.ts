import t from 'tap'
import { parseHostport, parseServed } from '../../../../src/ground/core/address/hostport.js'

t.test('hostports have one spelling', async (t) => {
  const cases = [
    ['a:1', 'a:1'],
    ['A.Example.COM:65535', 'a.example.com:65535'],
    ['_srv.example:22', '_srv.example:22'],
    ['192.0.2.1:22', '192.0.2.1:22'],
    ['[::1]:22', '[::1]:22'],
    ['[2001:DB8:0:0::1]:22', '[2001:db8::1]:22'],
    ['[::ffff:192.0.2.1]:22', '192.0.2.1:22'],
    ['ü:1', 'xn--tda:1'],
    ['BÜCHER.Example:443', 'xn--bcher-kva.example:443'],
    ['bu\u0308cher.example:443', 'xn--bcher-kva.example:443'],
    ['xn--bcher-kva.example:443', 'xn--bcher-kva.example:443'],
    ['_srv.bücher.example:443', '_srv.xn--bcher-kva.example:443'],
    ['例え.テスト:443', 'xn--r8jz45g.xn--zckzah:443'],
    ['пример.example:22', 'xn--e1afmkfd.example:22'],
  ]
  for (const [given = '', value] of cases) t.strictSame(parseHostport(given), { ok: true, value }, given)
})

t.test('text that is not a hostport', async (t) => {
  const cases = ['', ':', 'a', 'a:', ':1', 'a:0', 'a:65536', 'a:1.5', 'a:-1', 'a:01', 'a b:1', 'a..b:1']
  const more = [
    'a.:1',
    '-a:1',
    'a-:1',
    '[::1]',
    '[]:1',
    '[::g]:1',
    '[192.0.2.1]:1',
    '::1:1',
    'a:1 ',
    '256.1.1.1:22',
    '010.1.1.1:22',
    '1.2.3:22',
    '1。2。3:22',
    '0x7f。1:22',
    'bü.1:22',
    'bü/x:22',
    'bü\t:22',
    'bü%2e:22',
    'bü@x:22',
    'bü..x:22',
    '-bü:22',
    'bü-.x:22',
    'xn--a.bü:22',
    '\ud800:22',
    'a\u3002example:22',
    '例え\uff0eテスト:22',
    `${'ü'.repeat(64)}:22`,
  ]
  for (const text of [...cases, ...more]) t.equal(parseHostport(text).ok, false, JSON.stringify(text))
})

t.test('wildcards of edges', async (t) => {
  const cases: Readonly<Record<string, string | undefined>> = {
    'a:1': 'a:1',
    'A.Example:*': 'a.example:*',
    '*.BÜCHER.example:443': '*.xn--bcher-kva.example:443',
    '*.example:*': '*.example:*',
    '*:22': '*:22',
    '*:*': '*:*',
    '[2001:DB8::1]:*': '[2001:db8::1]:*',
    '*': undefined,
    '*.example': undefined,
    ':*': undefined,
    '*.:22': undefined,
    '*a:22': undefined,
    'a.*.b:22': undefined,
    '*.*.b:22': undefined,
    '*.*:22': undefined,
    '**:22': undefined,
    'a:2*': undefined,
    '*:0': undefined,
    '*:65536': undefined,
    '*.192.0.2.1:22': undefined,
    '*.[::1]:22': undefined,
  }
  for (const [text, want] of Object.entries(cases)) {
    const found = parseServed(text)
    t.equal(found.ok ? found.value : undefined, want, text)
    if (text.includes('*')) t.notOk(parseHostport(text).ok, `${text} is no plain hostport`)
  }
})
