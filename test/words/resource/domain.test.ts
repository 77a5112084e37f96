import t from 'tap'
import { domain, isCovered, parseDomainName } from '../../../src/words/resource/domain.js'
import { lookupsIn, refusalOf, tools } from './lookups.js'

const names = [
  { text: 'app.example.com', want: 'app.example.com' },
  { text: 'APP.Example.COM', want: 'app.example.com' },
  { text: '*.example.com', want: '*.example.com' },
  { text: '*.Bücher.example', want: '*.xn--bcher-kva.example' },
  { text: 'bücher.example', want: 'xn--bcher-kva.example' },
  { text: 'xn--bcher-kva.example', want: 'xn--bcher-kva.example' },
  { text: '_acme.example.com', want: '_acme.example.com' },
]

t.test('one spelling for all that mean the same', (t) => {
  for (const { text, want } of names) t.strictSame(parseDomainName(text), { ok: true, value: want }, text)
  t.end()
})

const refused = [
  { name: 'nothing', text: '' },
  { name: 'a single label', text: 'localhost' },
  { name: 'a wildcard alone', text: '*' },
  { name: 'a wildcard of a single label', text: '*.com' },
  { name: 'a wildcard within', text: 'a.*.example.com' },
  { name: 'a wildcard in a label', text: 'a*.example.com' },
  { name: 'two wildcards', text: '*.*.example.com' },
  { name: 'a dot at the end', text: 'example.com.' },
  { name: 'two dots', text: 'a..example.com' },
  { name: 'a hyphen first', text: '-a.example.com' },
  { name: 'a port', text: 'example.com:443' },
  { name: 'a scheme', text: 'https://example.com' },
  { name: 'a path', text: 'example.com/a' },
  { name: 'a space', text: 'a .example.com' },
  { name: 'a long label', text: `${'a'.repeat(64)}.example.com` },
  { name: 'a long name', text: `${'a.'.repeat(125)}example` },
  { name: 'an IPv4 address', text: '192.0.2.1' },
  { name: 'an IPv4 address in wide digits', text: '１９２.0.2.1' },
  { name: 'an IPv6 address', text: '[2001:db8::1]' },
  { name: 'what IDNA refuses', text: '⁇.example' },
  { name: 'a sign that stands for a letter', text: '\u212a.example' },
  { name: 'a path after a name in another script', text: 'bücher.example/a' },
  { name: 'a tab in a name in another script', text: 'bü\tcher.example' },
]

t.test('text that is not a domain name', (t) => {
  for (const { name, text } of refused) t.equal(parseDomainName(text).ok, false, name)
  t.end()
})

const disguised = [
  { text: '\u212a.example', culprit: 'U+212A' },
  { text: '*.\u212a.example', culprit: 'U+212A' },
  { text: '１９２.0.2.1', culprit: 'U+FF11' },
  { text: 'ａpp.example', culprit: 'U+FF41' },
  { text: 'a\u00adpp.example', culprit: 'U+00AD' },
]

t.test('a character that only looks like another one is named', (t) => {
  for (const { text, culprit } of disguised) {
    const parsed = parseDomainName(text)
    t.match(
      parsed,
      { ok: false, problem: { msg: `the name contains ${culprit}, which would be replaced` } },
      text,
    )
  }
  t.end()
})

t.test('which domains a name of a certificate covers', (t) => {
  const cases = [
    ['a.example.com', 'a.example.com', true],
    ['a.example.com', 'A.Example.COM', true],
    ['a.example.com', '*.example.com', true],
    ['*.example.com', '*.example.com', true],
    ['example.com', '*.example.com', false],
    ['a.b.example.com', '*.example.com', false],
    ['a.example.com', 'b.example.com', false],
    ['*.example.com', 'a.example.com', false],
    ['*.b.example.com', '*.example.com', false],
    ['a.example.com', 'a*.example.com', false],
    ['a.example.com', '*', false],
    ['xn--bcher-kva.example.com', '*.example.com', true],
  ] as const
  for (const [domain, name, want] of cases) t.equal(isCovered(domain, name), want, `${domain} by ${name}`)
  t.end()
})

t.test('the targets of CNAME records', async (t) => {
  const targetsOf = (name: string, previous?: object) => {
    const draft = {
      id: 'rd_01ABC',
      domain: name,
      cname_target: null,
      acme_challenge_cname_target: null,
      ...previous,
    }
    const { cname_target, acme_challenge_cname_target } = domain.derive!(
      draft as never,
      previous as never,
      tools,
    )
    return [cname_target, acme_challenge_cname_target]
  }
  t.strictSame(targetsOf('a.example.com'), ['01abc.cname.weir.example', null])
  t.strictSame(targetsOf('*.example.com'), ['01abc.cname.weir.example', '01abc.acme.weir.example'])
  const before = { cname_target: '01abc.cname.old.example' }
  t.strictSame(
    targetsOf('*.example.com', before),
    ['01abc.cname.old.example', '01abc.acme.old.example'],
    'they stay when the domain of the deployment changes',
  )
})

t.test('domains that are refused for what else is set', async (t) => {
  const certificate = (id: string, dns_names: string[], subject_common_name: string | null = null) => ({
    id,
    subject_common_name,
    subject_alternative_names: { dns_names, ips: [] },
  })
  const lookups = lookupsIn({
    tls_certificate: [
      certificate('cert_1', ['*.example.com'], 'b.example.org'),
      certificate('cert_2', [], 'a.example.com'),
    ],
  })
  const cases: [name: string, row: object, refusal: RegExp | undefined][] = [
    ['a name alone', { domain: 'a.example.com' }, undefined],
    ['under the deployment', { domain: 'a.weir.example' }, /belong to this deployment/],
    ['its certificate names it', { domain: 'a.example.com', certificate_id: 'cert_1' }, undefined],
    ['by the common name, without others', { domain: 'a.example.com', certificate_id: 'cert_2' }, undefined],
    [
      'by the common name, next to others',
      { domain: 'b.example.org', certificate_id: 'cert_1' },
      /does not name/,
    ],
    [
      'another certificate',
      { domain: 'x.example.com', certificate_id: 'cert_2' },
      /does not name "x\.example\.com"/,
    ],
    ['both', { certificate_id: 'cert_1', certificate_management_policy: {} }, /one of the two must be null/],
  ]
  for (const [name, row, refusal] of cases) {
    const whole = {
      domain: 'a.example.com',
      certificate_id: null,
      certificate_management_policy: null,
      ...row,
    }
    const found = refusalOf(() => domain.check?.(whole as never, undefined, lookups))
    if (refusal === undefined) t.equal(found, undefined, name)
    else t.match(found, refusal, name)
  }
})
