/** Decisions and allowlists of CrowdSec, in each form in which it answers them. */
import t from 'tap'
import { importOf, type Json, lineAt, sectionOf } from './fixtures.js'

/** Of the fixtures' time. */
const at = (text: string): string => `2026-12-0${text}Z`

const decision = (members: Json = {}): Json => ({
  duration: '3h59m58.517s',
  id: 7,
  origin: 'cscli',
  scenario: 'manual',
  scope: 'Ip',
  type: 'ban',
  value: '203.0.113.9',
  ...members,
})
const allowlist = (...items: Json[]): Json => ({
  name: 'Partners of ours',
  description: '',
  items,
  created_at: at('1T00:00:00'),
})

/** The entries of a list. */
const entriesIn = (value: unknown, list = 'crowdsec-bans'): unknown =>
  sectionOf(importOf('crowdsec', value), 'ip_lists').find(({ name }) => name === list)?.['entries']

t.test('the forms of the local API, of its stream and of cscli', (t) => {
  const entries = [{ cidr: '203.0.113.9/32', comment: 'manual', expires_at: at('1T03:59:59') }]
  const alert = { id: 1, capacity: 0, decisions: [decision()], events: null, source: { ip: '203.0.113.9' } }
  const answers = {
    'a list': [decision()],
    'the stream': { new: [decision()], deleted: [decision()] },
    cscli: [alert],
  }
  for (const [name, answer] of Object.entries(answers)) t.same(entriesIn(answer), entries, name)
  t.same(importOf('crowdsec', null).file, {}, 'no decisions')
  t.throws(() => importOf('crowdsec', { message: 'access forbidden' }), { message: /neither decisions/ })
  t.throws(() => importOf('crowdsec', 7), {
    message: 'The input is no answer of CrowdSec: an object or a list is needed.',
  })
  t.end()
})

t.test('what can not be read does not keep the rest out', (t) => {
  const { value: _, ...nameless } = decision()
  const { duration: __, ...endless } = decision()
  const found = importOf('crowdsec', [7, null, {}, nameless, endless, { decisions: 'none' }, decision()])
  t.match(sectionOf(found, 'ip_lists'), [{ entries: [{ cidr: '203.0.113.9/32' }] }])
  const reasons: Readonly<Record<string, RegExp>> = {
    '[0]': /^It is not an object/,
    '[1]': /^It is not an object/,
    '[2]': /^It has neither decisions nor/,
    '[3]': /./,
    '[4]': /^Its duration is not one of Go/,
    '[5].decisions': /^It is not an object/,
  }
  for (const [place, reason] of Object.entries(reasons))
    t.match(lineAt(found, place), { outcome: 'not_taken', notes: [reason] }, place)
  t.match(lineAt(found, '[6]'), { outcome: 'taken' })
  t.equal(found.report.length, 7)
  t.end()
})

t.test('the time at which a ban ends', (t) => {
  const ends: Readonly<Record<string, string>> = {
    '1h': at('1T01:00:00'),
    '1m0.001s': at('1T00:01:01'),
    '1500ms': at('1T00:00:02'),
    '48h0m0s': at('3T00:00:00'),
  }
  for (const [duration, expires_at] of Object.entries(ends))
    t.match(entriesIn([decision({ duration })]), [{ expires_at }], duration)
  t.match(
    entriesIn([decision({ until: at('2T10:00:00') })]),
    [{ expires_at: at('2T10:00:00') }],
    'until says it',
  )
  for (const duration of ['', 'for ever', '1 h', '-', 5]) {
    const line = lineAt(importOf('crowdsec', [decision({ duration })]), '[0]')
    t.match(
      line,
      { outcome: 'not_taken', notes: ['Its duration is not one of Go, such as 3h59m58.5s.'] },
      String(duration),
    )
  }
  t.match(lineAt(importOf('crowdsec', [decision({ duration: '-2h3m' })]), '[0]').notes, [
    'It ended at 2026-11-30T21:57:00Z.',
  ])
  t.end()
})

t.test('what an IP policy does not know', (t) => {
  const reasons: readonly (readonly [Json, RegExp])[] = [
    [{ scope: 'Country', value: 'CN' }, /conn\.geo\.country_code == "CN"/],
    [{ scope: 'AS', value: '64500' }, /conn\.asn == 64500/],
    [{ scope: 'username', value: 'bob' }, /no bans of the scope "username"/],
    [{ type: 'captcha' }, /has no "captcha"/],
    [{ value: '203.0.113.999' }, /203\.0\.113\.999/],
  ]
  for (const [members, reason] of reasons) {
    const result = importOf('crowdsec', [decision(members)])
    t.match(lineAt(result, '[0]').notes.join(' '), reason)
    t.same(result.file, {}, 'no list and no policy')
  }
  t.end()
})

t.test('the longest of several bans counts, and a simulated one decides nothing', (t) => {
  const value = [
    decision({ duration: '1h' }),
    decision({ duration: '5h', scenario: 'longer' }),
    decision({ simulated: true, value: '203.0.113.10' }),
  ]
  const result = importOf('crowdsec', value)
  t.same(entriesIn(value), [{ cidr: '203.0.113.9/32', comment: 'longer', expires_at: at('1T05:00:00') }])
  t.equal(lineAt(result, '[0]').outcome, 'changed')
  t.equal(lineAt(result, '[1]').outcome, 'taken')
  t.same(sectionOf(result, 'ip_policies')[0]!['rules'], [
    { cidr: '0.0.0.0/0', action: 'allow' },
    { cidr: '::/0', action: 'allow' },
    { list_id: 'crowdsec-bans', action: 'deny' },
    { list_id: 'crowdsec-simulated-bans', action: 'deny', enforced: false },
  ])
  t.end()
})

t.test('a ban that overlaps with an allowlist, whichever is wider', (t) => {
  const wide = {
    value: '203.0.113.0/28',
    description: 'the partners',
    expiration: '0001-01-01T00:00:00.000Z',
  }
  const narrow = { value: '198.51.100.7', expiration: at('2T00:00:00') }
  const ended = { value: '192.0.2.1', expiration: at('1T00:00:00') }
  const bans = [
    decision(),
    decision({ scope: 'Range', value: '198.51.100.0/24' }),
    decision({ value: '192.0.2.1' }),
  ]
  const value = { decisions: bans, allowlists: [allowlist(wide, narrow, ended)] }
  t.match(entriesIn(value), [{ cidr: '192.0.2.1/32' }])
  t.same(entriesIn(value, 'crowdsec-allow-partners-of-ours'), [
    { cidr: '203.0.113.0/28', comment: 'the partners' },
    { cidr: '198.51.100.7/32', expires_at: at('2T00:00:00') },
  ])
  const result = importOf('crowdsec', value)
  for (const place of ['decisions[0]', 'decisions[1]'])
    t.match(lineAt(result, place).notes.join(' '), /The allowlist Partners/)
  t.match(lineAt(result, 'allowlists[0].items[2]').notes, ['It ended at 2026-12-01T00:00:00Z.'])
  t.end()
})
