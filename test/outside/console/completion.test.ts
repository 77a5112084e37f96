/** Completions of an expression in an editor, and the part of JSON that the place of a fault is. */
import t from 'tap'
import {
  completionsAt,
  lengthAt,
  type Vocabulary,
} from '../../../src/outside/console/data/asking/completion.js'
import { rangeOfPlace } from '../../../src/outside/console/data/drafts/json-place.js'
import { expressionIn } from '../../../src/outside/console/data/drafts/yaml-expression.js'

const vocabulary: Vocabulary = {
  names: [
    { name: 'conn.client_ip', type: 'text', about: 'The address.' },
    { name: 'conn.geo.city', type: 'text', about: 'The city.', missing: 'No database has it.' },
    { name: 'edge.id', type: 'text', about: 'Id of the edge.' },
  ],
  functions: [
    { name: 'inCidrRange', parameters: ['ip', 'cidr'], about: 'In it?', example: '' },
    { name: 'lower', parameters: ['text'], about: '', example: '' },
  ],
  lists: [{ name: 'tor-exits', category: 'proxy.tor' }, { name: 'office' }, { name: 'proxy.other' }],
}

t.test('the expression in a file of policies', async (t) => {
  const begin = 'tcp_edges:\n  - policies:\n      inbound:\n'
  // The position is where the bar stands.
  const cases: readonly (readonly [situation: string, text: string, expected: string | undefined])[] = [
    ['in double quotes', `${begin}        - expressions: ["conn.cl¦ient"]`, 'conn.cl'],
    ['in single quotes', `${begin}        - expressions: ['conn.¦']`, 'conn.'],
    ['the second of a line', `${begin}        - expressions: ["true", "edge.¦"]`, 'edge.'],
    ['behind a text of its own', `${begin}        - expressions: ["a == 'x' && con¦"]`, "a == 'x' && con"],
    ['an entry of its own line', `${begin}        - expressions:\n            - conn.geo¦`, 'conn.geo'],
    ['a later entry', `${begin}        - expressions:\n            - 'true'\n            - "edge¦"`, 'edge'],
    ['an entry that is not begun', `${begin}        - expressions:\n            - ¦`, ''],
    ['no name of a policy', `${begin}        - name: con¦`, undefined],
    ['no entry of another list', 'tcp_edges:\n  - hostports:\n      - con¦', undefined],
    ['nothing behind the brackets', `${begin}        - expressions: ["true"]¦`, undefined],
  ]
  for (const [situation, marked, expected] of cases) {
    const position = marked.indexOf('¦')
    const found = expressionIn.yaml(marked.replace('¦', ''), position)
    t.equal(found?.text, expected, situation)
    if (found !== undefined) t.equal(found.from, position - found.text.length, situation)
  }
})

t.test('completions of an expression', async (t) => {
  // The position is where the bar stands.
  const cases: readonly (readonly [situation: string, text: string, expected: string, from: number])[] = [
    ['a name by its beginning', 'con¦', 'conn.client_ip conn.geo.city', 0],
    ['in any letter case', 'CONN.G¦', 'conn.geo.city', 0],
    ['a name by its middle', "edge.id == 'x' && city¦", 'conn.geo.city', 18],
    ['a word and a function', 'edge.id in¦', 'in inCidrRange', 8],
    ['functions after a bar', 'conn.client_ip|in¦', 'inCidrRange', 15],
    ['functions after a name and a dot', 'edge.id.lo¦', 'lower', 8],
    ['nothing in a text', "edge.id == 'con¦", '', 15],
    ['nothing in a text with an escaped quote', "edge.id == 'a\\'con¦", '', 18],
    ['again after a text', "'a' == con¦", 'conn.client_ip conn.geo.city', 7],
    ['every list', "inList(conn.client_ip, '¦", 'tor-exits office proxy.other', 24],
    ['a list by its beginning', "inList(conn.client_ip,'proxy.o¦", 'proxy.other', 23],
    ['a list by its middle', 'inList( conn.client_ip , "ex¦', 'tor-exits', 26],
    ['a list behind its address', "conn.client_ip|inList('of¦", 'office', 23],
    ['no list in another text', "inCidrRange(conn.client_ip, 'of¦", '', 31],
    ['no list in a text after it', "inList(conn.client_ip, 'x') && edge.id == 'of¦", '', 45],
    ['nothing that is unknown', 'zebra¦', '', 0],
  ]
  for (const [situation, marked, expected, from] of cases) {
    const found = completionsAt(marked.replace('¦', ''), marked.indexOf('¦'), vocabulary)
    t.equal(found.completions.map(({ text }) => text).join(' '), expected, situation)
    t.equal(found.from, from, situation)
  }
})

t.test('a function behind its value lacks the first parameter', async (t) => {
  const [entry] = completionsAt('conn.client_ip|inC', 18, vocabulary).completions
  t.equal(entry?.detail, '(cidr)')
})

t.test('a name without a value in the deployment says so', async (t) => {
  const [entry] = completionsAt('conn.geo', 8, vocabulary).completions
  t.match(entry?.about, 'No database has it.')
})

t.test('the length of what stands at a fault', async (t) => {
  t.equal(lengthAt('conn.geo.contry == 1', 0), 15)
  t.equal(lengthAt("a == 'x y' && b", 5), 5)
  t.equal(lengthAt('a && && b', 5), 2)
  t.equal(lengthAt('lower(', 5), 1)
  t.equal(lengthAt('a', 1), 0, 'the end')
})

t.test('the range of a place in JSON', async (t) => {
  const text = `{"enabled": true, "inbound": [ {"expressions": ["a \\"b", "c"]} , {"expressions": [ 1 ]} ]}`
  const cases: readonly (readonly [place: string, expected: string | undefined])[] = [
    ['enabled', 'true'],
    ['inbound[0].expressions[1]', '"c"'],
    ['inbound[0].expressions[0]', '"a \\"b"'],
    ['inbound[1].expressions[0]', '1'],
    ['inbound[1].name', '{"expressions": [ 1 ]}'],
    ['inbound[7]', '[ {"expressions": ["a \\"b", "c"]} , {"expressions": [ 1 ]} ]'],
    ['outbound[0]', undefined],
  ]
  for (const [place, expected] of cases) {
    const range = rangeOfPlace(text, place)
    t.equal(range && text.slice(range.from, range.to), expected, place)
  }
  for (let end = 0; end < text.length; end += 1)
    t.doesNotThrow(() => rangeOfPlace(text.slice(0, end), 'inbound[1].expressions[0]'), `cut after ${end}`)
})
