import t from 'tap'
import { parseBindRule, parseBindTarget } from '../../../../src/words/resource/fields/bind-acl.js'

t.test('rules, in one spelling for all that mean the same', (t) => {
  const cases = [
    ['*', '*'],
    ['bind:example.com', 'example.com'],
    ['bind:Example.COM', 'example.com'],
    ['bind:1.tcp.us.example:20001', '1.tcp.us.example:20001'],
    ['bind:*.example.com', '*.example.com'],
    ['bind:*.Example', '*.example'],
    ['bind:203.0.113.7', '203.0.113.7'],
    ['bind:203.0.113.7:22', '203.0.113.7:22'],
    ['bind:[2001:DB8:0::1]:22', '[2001:db8::1]:22'],
    ['bind:[2001:db8::1]', '[2001:db8::1]'],
    ['bind:2001:db8::1', '[2001:db8::1]'],
    ['bind:*.Bücher.example', '*.xn--bcher-kva.example'],
    ['bind:bücher.example:443', 'xn--bcher-kva.example:443'],
  ]
  for (const [rule = '', value] of cases) t.strictSame(parseBindRule(rule), { ok: true, value }, rule)
  t.end()
})

t.test('text that is not a rule', (t) => {
  const cases = ['', '**', '* ', 'bind', 'bind:', 'BIND:a', 'example.com', 'allow:a', ' bind:a', 'bind: a']
  const targets = ['*', '*.', '*.*', '*.*.a', 'a.*', '*a', '*.a:22', '*.10.0.0.1', '*.[::1]', '-a', 'a..b']
  const ports = [
    'a:0',
    'a:',
    'a:65536',
    '[::1',
    '1.2.3',
    'a b',
    'https://a',
    'a/b',
    '\u212a.example',
    'a\u3002example',
    'a\uff0eb',
    'a\uff61b',
  ]
  for (const rule of [...cases, ...[...targets, ...ports].map((target) => `bind:${target}`)])
    t.equal(parseBindRule(rule).ok, false, JSON.stringify(rule))
  t.end()
})

t.test('what an agent binds is spelled as rules are', (t) => {
  t.strictSame(parseBindTarget('A.example'), { ok: true, value: 'a.example' })
  t.strictSame(parseBindTarget('*.A.example'), { ok: true, value: '*.a.example' })
  t.strictSame(parseBindTarget('é.example'), { ok: true, value: 'xn--9ca.example' })
  t.strictSame(parseBindTarget('0:0::1'), { ok: true, value: '[::1]' })
  t.equal(parseBindTarget('*').ok, false)
  t.end()
})
