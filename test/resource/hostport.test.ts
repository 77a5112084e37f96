import t from 'tap'
import { parseHostport } from '../../src/resource/hostport.js'

t.test('hostports have one spelling', async (t) => {
  const cases = [
    ['a:1', 'a:1'],
    ['A.Example.COM:65535', 'a.example.com:65535'],
    ['_srv.example:22', '_srv.example:22'],
    ['192.0.2.1:22', '192.0.2.1:22'],
    ['[::1]:22', '[::1]:22'],
    ['[2001:DB8:0:0::1]:22', '[2001:db8::1]:22'],
    ['[::ffff:192.0.2.1]:22', '192.0.2.1:22'],
  ]
  for (const [given = '', value] of cases) t.strictSame(parseHostport(given), { ok: true, value }, given)
})

t.test('what is no hostport', async (t) => {
  const cases = ['', ':', 'a', 'a:', ':1', 'a:0', 'a:65536', 'a:1.5', 'a:-1', 'a:01', 'a b:1', 'a..b:1']
  const more = [
    'a.:1',
    '-a:1',
    'a-:1',
    'ü:1',
    '[::1]',
    '[]:1',
    '[::g]:1',
    '[192.0.2.1]:1',
    '::1:1',
    'a:1 ',
    '256.1.1.1:22',
    '010.1.1.1:22',
    '1.2.3:22',
  ]
  for (const text of [...cases, ...more]) t.equal(parseHostport(text).ok, false, JSON.stringify(text))
})
