/** Lists of ranges in files: how they are read, what is wrong in them, how they differ from rules, how they are written. */
import t from 'tap'
import { draftedRules, withDraftedRules } from '../../../src/outside/console/data/drafts/drafted-rules.js'
import {
  asCsv,
  asNdjson,
  type RuleEntry,
  ruleDifference,
  rulesInText,
} from '../../../src/outside/console/data/resources/rule-files.js'
import { cpuMsOf } from '../../harness/cpu.js'

const listId = 'ipl_01KAFZR7DA0T4CH30SW7DJ5M3B'
const nowMs = Date.parse('2026-11-20T10:00:00Z')

const short = ({ cidr, list_id, action, description, enforced }: RuleEntry): string =>
  [cidr, list_id, action, enforced ? '' : 'not enforced', description].filter(Boolean).join(' ')

t.test('what is read', (t) => {
  const cases: readonly (readonly [situation: string, text: string, rules: readonly string[]])[] = [
    ['an address is the range of itself', '203.0.113.9\n', ['203.0.113.9/32 deny']],
    [
      'comments of both kinds, empty lines, a byte order mark',
      '\uFEFF# list\n\n; Spamhaus\n10.0.0.0/8 ; SBL1\r\n2001:DB8::/32 # six',
      ['10.0.0.0/8 deny SBL1', '2001:db8::/32 deny six'],
    ],
    [
      'CSV without names of columns',
      '10.0.0.0/8,allow,"a, ""b"""\n10.1.0.0/16,DENY,\n10.2.0.0/16,',
      ['10.0.0.0/8 allow a, "b"', '10.1.0.0/16 deny', '10.2.0.0/16 deny'],
    ],
    ['CSV with columns in another order', 'action,note,cidr\nallow,x,10.0.0.0/8', ['10.0.0.0/8 allow']],
    [
      'CSV with a line break in quotes',
      '10.0.0.0/8,allow,"a\nb"\n::1,allow,c',
      ['10.0.0.0/8 allow a\nb', '::1/128 allow c'],
    ],
    ['CSV whose description has a #', '10.0.0.0/8,allow,ticket #7', ['10.0.0.0/8 allow ticket #7']],
    [
      'a list in JSON',
      '["10.0.0.0/8", {"cidr": "::/0", "action": "allow"}]',
      ['10.0.0.0/8 deny', '::/0 allow'],
    ],
    ['the body of the API', '{"rules": [{"cidr": "10.0.0.0/8", "action": "allow"}]}', ['10.0.0.0/8 allow']],
    [
      'NDJSON',
      '{"cidr":"10.0.0.0/8","action":"allow","description":"x"}\n{"cidr":"::1"}\n',
      ['10.0.0.0/8 allow x', '::1/128 deny'],
    ],
    [
      'rules that are not enforced, in CSV',
      'cidr,enforced\n10.0.0.0/8,false\n10.1.0.0/16,TRUE\n10.2.0.0/16,',
      ['10.0.0.0/8 deny not enforced', '10.1.0.0/16 deny', '10.2.0.0/16 deny'],
    ],
    [
      'rules that are not enforced, in JSON',
      '[{"cidr": "10.0.0.0/8", "enforced": false}, {"cidr": "::1", "enforced": null}]',
      ['10.0.0.0/8 deny not enforced', '::1/128 deny'],
    ],
    [
      'a rule about a list, in CSV with an empty first cell',
      `cidr,action,list_id\n,allow,${listId}\n10.0.0.0/8,,`,
      [`${listId} allow`, '10.0.0.0/8 deny'],
    ],
    [
      'a rule about a list, in JSON and as the API shows it',
      `[{"list_id": "${listId}", "cidr": null}, {"cidr": null, "list": {"id": "${listId}2"}}, {"cidr": "::1", "list": null}]`,
      [`${listId} deny`, `${listId}2 deny`, '::1/128 deny'],
    ],
  ]
  for (const [situation, text, rules] of cases) {
    const read = rulesInText(text, 'deny', nowMs)
    t.strictSame(read.rules.map(short), rules, situation)
    t.strictSame(read.faults, [], situation)
  }
  t.end()
})

t.test('what is wrong, by lines', (t) => {
  const cases: readonly (readonly [text: string, line: number, says: RegExp])[] = [
    ['10.0.0.0/8\n\nhere', 3, /"here" is not/],
    ['10.1.2.3/8', 1, /write 10\.0\.0\.0\/8/],
    ['10.0.0.0/8\n10.0.0.0/8', 2, /there already: entry 1/],
    [`{"list_id": "${listId}"}\n{"list_id": "${listId}"}`, 2, /there already: entry 1/],
    [`{"list_id": "${listId}", "cidr": "::1"}`, 1, /a rule has one of them/],
    ['{"list_id": "ipp_1"}', 1, /"ipp_1" is not the id of an IP list/],
    ['10.0.0.0/8,refuse', 1, /"allow" or "deny" is needed/],
    ['cidr,enforced\n10.0.0.0/8,no', 2, /"true" or "false" is needed/],
    ['[1', 1, /not JSON/],
    ['{"rules": 5}', 1, /must be a list/],
    ['{"cidr": ', 1, /is not/],
    ['[null, {"cidr": {"a": 1}}]', 1, /is not/],
    ['10.0.0.0/8,deny,,,2026-11-20T10:00:00Z', 1, /has expired/],
    ['10.0.0.0/8,deny,,,tomorrow', 1, /"tomorrow": a time/],
    ['10.0.0.0/8\n10.1.0.0/16,deny,"open\n10.2.0.0/16', 2, /quote is not closed/],
  ]
  for (const [text, line, says] of cases) {
    const [fault] = rulesInText(text, 'deny', nowMs).faults
    t.equal(fault?.line, line, text)
    t.match(fault?.text, says, text)
  }
  t.end()
})

t.test('a quote too many swallows nothing', (t) => {
  const rows = Array.from(
    { length: 20_000 },
    (_, index) => `10.${index >> 8}.${index & 255}.0/24,deny,listed`,
  )
  const readAll = (): void => {
    for (const [first, faults] of [
      ['192.0.2.0/24,deny,5" disk', 0],
      ['192.0.2.0/24,deny,"5 disk', 1],
    ] as const) {
      const read = rulesInText([first, ...rows].join('\n'), 'deny', nowMs)
      t.equal(read.faults.length, faults, first)
      t.equal(read.rules.length, rows.length + 1 - faults, 'every other line is a rule')
    }
    const open = rulesInText(rows.map((row) => `${row.slice(0, -6)}"x`).join('\n'), 'deny', nowMs)
    t.equal(open.rules.length, 0)
    t.equal(open.faults.length, rows.length, 'each line is named')
  }
  t.ok(cpuMsOf(readAll) < 5_000, 'without keeping the browser busy')
  t.end()
})

t.test('the difference', (t) => {
  const rule = (
    cidr: string,
    action: 'allow' | 'deny',
    description?: string,
    enforced = true,
  ): RuleEntry => ({ cidr, action, description, enforced })
  const { added, removed, changed, kept } = ruleDifference(
    [
      rule('10.0.0.0/8', 'allow'),
      rule('::/0', 'allow', 'all'),
      rule('::1/128', 'deny'),
      rule('1.1.1.1/32', 'deny'),
      rule('3.3.3.3/32', 'deny'),
    ],
    [
      rule('10.0.0.0/8', 'deny'),
      rule('::/0', 'allow', 'each'),
      rule('::1/128', 'deny', ''),
      rule('2.2.2.2/32', 'deny'),
      rule('3.3.3.3/32', 'deny', undefined, false),
    ],
  )
  t.strictSame(added.map(short), ['2.2.2.2/32 deny'])
  t.strictSame(removed.map(short), ['1.1.1.1/32 deny'])
  t.strictSame(
    changed.map(({ before, after }) => `${short(before)} → ${short(after)}`),
    [
      '10.0.0.0/8 allow → 10.0.0.0/8 deny',
      '::/0 allow all → ::/0 allow each',
      '3.3.3.3/32 deny → 3.3.3.3/32 deny not enforced',
    ],
  )
  t.equal(kept, 1, 'an empty description is none')
  const list: RuleEntry = { list_id: listId, action: 'deny', enforced: true }
  t.strictSame(ruleDifference([list, rule('::1/128', 'deny')], [list]).removed.map(short), ['::1/128 deny'])
  const until = (expires_at: string | null): RuleEntry => ({ ...rule('::1/128', 'deny'), expires_at })
  t.equal(ruleDifference([until(null)], [until('2027-01-01T00:00:00Z')]).changed.length, 1)
  t.equal(ruleDifference([until(null)], [rule('::1/128', 'deny')]).kept, 1, 'null is no end')
  t.end()
})

t.test('a difference as the draft of a challenger, and what comes of it', (t) => {
  const present: readonly RuleEntry[] = [
    { id: 'ipr_1', cidr: '10.0.0.0/8', action: 'allow', description: 'a', enforced: true },
    { id: 'ipr_2', cidr: '10.1.0.0/16', action: 'allow', description: 'b', enforced: true },
    { id: 'ipr_3', cidr: '::/0', action: 'allow', enforced: true },
    { id: 'ipr_4', list_id: listId, action: 'deny', enforced: true },
    { id: 'ipr_5', cidr: '::1/128', action: 'deny', enforced: true },
  ]
  const wanted: readonly RuleEntry[] = [
    { cidr: '10.0.0.0/8', action: 'allow', description: 'changed', enforced: false },
    { cidr: '10.1.0.0/16', action: 'allow', enforced: true },
    { cidr: '::/0', action: 'deny', enforced: true },
    { list_id: listId, action: 'deny', enforced: true },
    { cidr: '192.0.2.0/24', action: 'deny', enforced: true },
  ]
  const drafted = draftedRules('ipp_1', ruleDifference(present, wanted)).ip_policies?.[0]
  t.match(drafted, {
    id: 'ipp_1',
    change: [{ id: 'ipr_1', description: 'changed', enforced: false }],
    remove: ['ipr_5', 'ipr_2', 'ipr_3'],
  })
  t.strictSame(
    drafted?.add?.map(({ cidr, action }) => `${cidr} ${action}`),
    ['192.0.2.0/24 deny', '10.1.0.0/16 allow', '::/0 deny'],
    'a rule that loses a value, or has another action, is another rule',
  )
  const tried = withDraftedRules(present, drafted as never) as RuleEntry[]
  t.strictSame(tried.map(short).toSorted(), wanted.map(short).toSorted())
  t.end()
})

t.test('what is written can be read again', (t) => {
  const rules: RuleEntry[] = [
    { cidr: '10.0.0.0/8', action: 'allow', description: '=1+1', metadata: 'a,"b"', enforced: true },
    { cidr: '::1/128', action: 'deny', description: 'two\nlines', enforced: true },
    { cidr: '::2/128', action: 'deny', expires_at: '2026-11-20T11:00:00Z', enforced: false },
    { cidr: '::3/128', action: 'deny', description: "'=1", metadata: 'a;=1', enforced: true },
    { list_id: listId, action: 'allow', description: 'those of a list', enforced: true },
  ]
  for (const text of [asCsv(rules), asNdjson(rules)])
    t.strictSame(
      rulesInText(text, 'allow', nowMs).rules.map((rule) => JSON.stringify(rule)),
      rules.map((rule) => JSON.stringify(rule)),
      text,
    )
  t.match(asCsv(rules), "'=1+1", 'a spreadsheet calculates nothing')
  t.end()
})
