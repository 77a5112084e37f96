/**
 * What fuzzing found, each as an input that the test gives to its parser ever since. `npm run fuzz` prints such lines. Where a
 * find is about time, the input is so long that it took far more than the bound. Archives of backups are no text: an archive
 * with a file of a negative size, which led back to itself for ever, is a seed of its parser.
 */
import type { PastedInput } from './engine/pasted.js'

interface FixedSeed {
  readonly parser: string
  /** What was wrong. */
  readonly what: string
  readonly input: PastedInput
}

export const finds: readonly FixedSeed[] = [
  {
    parser: 'log format nginx',
    what: 'the column was one of the line without the escapes of nginx',
    input: '{"":"\\x00',
  },
  {
    parser: 'packs',
    what: 'each line was searched for a space to the end of the pack',
    input: [['\n', 262_000]],
  },
  {
    parser: 'packs',
    what: 'a time that no Date can hold made the sender of objects throw',
    input: 'key 9000000000000000 {"event_id":"ev_1","event_type":"a"}\n',
  },
  { parser: 'headers of packs', what: 'a range of messages ended before it began', input: '17-14:2' },
  {
    parser: 'headers of packs',
    what: 'a range of messages had numbers that are not exact',
    input: '10-99999999999999999999:2,17/99999999999999999999:1',
  },
  {
    parser: 'rows of logs',
    what: 'the refusal of a column had all of its name',
    input: ['\x01\x01\xe0\x5d', ['a', 12_000], '\x06String\x00'],
  },
  {
    parser: 'dead letters',
    what: 'an index led to a line Infinity',
    input: '\n{"reasons":[""],"runs":[1e401,1,0]}',
  },
  {
    parser: 'dead letters',
    what: 'an index led to a line that is not exact',
    input: '\n\n\n{"reasons":[""],"runs":[0,2,0,9007199254740993,1,0]}',
  },
  {
    parser: 'dead letters',
    what: 'a reason was no text',
    input: '\n{"reasons":[{}],"runs":[0,1,0]}',
  },
  {
    parser: 'messages between processes',
    what: 'one answer that is no JSON hid the reports of all other processes',
    input: '""a',
  },
  {
    parser: 'messages between processes',
    what: 'a report without addresses was taken for one',
    input: '{"role":"a","version":"1","host":"h","pid":1,"nowMs":1,"failing":null,"addresses":null}',
  },
  {
    parser: 'frames of syslog',
    what: 'a message in single bytes was copied and searched again with each of them',
    input: [['a', 65_536]],
  },
  {
    parser: 'OTLP in JSON',
    what: 'a number that begins with a zero became a text, so that no JSON was taken for JSON',
    input: '{"":0244444447483648}',
  },
  {
    parser: 'list format csv',
    what: 'an entry ended in the year 10000, which no answer can show',
    input: '203.0.113.0/24,,9999-12-31T23:59:60Z',
  },
  {
    parser: 'list format json',
    what: 'an object in place of an address has no text, and was an error of the program',
    input: '{"nftables":[{"set":{"type":"ipv4_addr","elem":[{"prefix":{"addr":{"toString":1},"len":8}}]}}]}',
  },
  {
    parser: 'list format json',
    what: 'an object in place of the end of a range was one, too',
    input: '{"nftables":[{"set":{"type":"ipv4_addr","elem":[{"range":["::",{"toString":1}]}]}}]}',
  },
  {
    parser: 'names of hosts',
    what: 'a name with a sign that looks like a letter was spelled in two ways',
    input: '\xc3\xbc\xe2\x84\xaa',
  },
  {
    parser: 'regular expressions of policies',
    what: 'a pattern became hundreds of thousands of instructions before they were counted',
    input: ['(?:', ['abcdefgh', 120], '){999}'],
  },
  {
    parser: 'values of queries',
    what: 'a unit that every object has as a member made a time NaN',
    input: '1constructor',
  },
  {
    parser: 'values of queries',
    what: 'a leap second led to the year 10000',
    input: '9999-12-31T23:59:60Z',
  },
  {
    parser: 'SSH keys',
    what: 'spaces before a control character took the square of their number',
    input: ['ssh-ed25519 AAAA', [' ', 60_000], '\x01'],
  },
  {
    parser: 'targets of requests',
    what: 'signs that end a host, before a line break, took the square of their number',
    input: ['a://', ['@\t', 30_000], '\nx'],
  },
  {
    parser: 'headers of proxies',
    what: 'colons behind a bracket took the square of their number',
    input: ['/a\nX-Forwarded-For: [', [':', 16_000]],
  },
  {
    parser: 'bodies of requests',
    what: 'an integer that a double holds was shown with other digits',
    input: '46744073709551616',
  },
  {
    parser: 'metrics in text',
    what: 'a line with a carriage return took the square of its length',
    input: ['# TYPE a', ['totnt', 6_546], '\r'],
  },
  {
    parser: 'metrics in text',
    what: 'a label without a value took the square of its length',
    input: ['a{', ['a', 60_000], '} 1'],
  },
  {
    parser: 'rows of resources',
    what: 'a row had a time that no Date can hold',
    input: '{"id":"a","account_id":"b","version":1,"created_at":1e21,"data":"x"}',
  },
  {
    parser: 'rows of resources',
    what: 'a row had a time of a year with five digits, which the database was sent cut',
    input: '{"id":"a","account_id":"b","version":1,"created_at":766164064800000,"data":"x"}',
  },
  {
    parser: 'archives of backups',
    what: 'the format of the data was an object without a text',
    input: '{"weir_backup":1,"data_format":{"toString":1}}',
  },
  {
    parser: 'answers of crowdsec',
    what: 'a ban ended beyond all times',
    input:
      '{"decisions":[{"duration":"9071933981276s","scope":"Range","type":"ban","value":"::"}],"allowlists":[]}',
  },
  {
    parser: 'answers of outpost',
    what: 'a topic of many stars was tried in as many ways as there are',
    input: [
      '[{"id":"a","type":"webhook","topics":["t',
      ['*', 60],
      'x"],"config":{"url":"https://a.example"}}]',
    ],
  },
  {
    parser: 'settings',
    what: 'a file that is nested deeply exhausted the stack',
    input: ['[', ['[', 12_000]],
  },
]
