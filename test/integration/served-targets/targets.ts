/** Targets of requests that try to be read in two ways, the same ones for the same seed. Characters are bytes. */

/** Numbers from 0 to below `below`, the same ones for the same seed (mulberry32). */
export function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const bases = [
  ...[
    '/private/x',
    '/private/x',
    '/private/',
    '/secret',
    '/secret',
    '/admin/x',
    '/admin/',
    '/public/x',
    '/public/',
    '/',
  ],
  ...['/zz/x', '/public/../private/x', '/private/../public/x'],
]

const separators = [
  ...[
    '//',
    '///',
    '%2f',
    '%2F',
    '%5c',
    '\\',
    '/./',
    '/.//',
    '%252f',
    '/;/',
    '/%2e/',
    '/zz/../',
    '/zz/..//',
    '/zz/%2e%2e/',
  ],
  ...[
    '%2fzz%2f..%2f',
    '/zz/..%2f',
    '/..;/',
    '/zz/..;/',
    '/zz;/..;a/',
    '%c0%af',
    '%u002f',
    '\\..\\',
    '%5c..%5c',
    '/.%2e/',
    '%2f%2f',
  ],
]
const before = [
  ...[
    'http://h',
    'http://h/zz/..',
    '//h',
    '/\\h',
    '\\',
    'http:',
    'http:/',
    'HTTP://H:80',
    '/.',
    '/..',
    '/;',
    '/public/..',
    '/zz/%2e%2e',
  ],
  ...[
    '/zz%2f..',
    'http://h\\x',
    'http://a@h:1',
    '/%2e',
    '/public/%2e%2e',
    '/public/..;',
    '/public%2f..',
    '/public/%252e%252e',
    '%2f',
    'http://h%2f',
    'http://h;',
    'http:http://',
    '*',
  ],
]
const within = [
  ...[
    ';a=b',
    ';',
    '%00',
    '%0a',
    '%0d',
    '%09',
    '%20',
    '.',
    '..',
    '%2e',
    '#',
    '%23',
    '?',
    '%3f',
    '%',
    '%zz',
    '%25',
    '\xff',
    '%ff',
  ],
  ...['\xc3\xbc', '%c3%bc', '%c0%ae', '%u002e', '~', '%7e', '+', '%3b', '*', '%80'],
]
const after = [
  ...[
    '/.',
    '/..',
    '/',
    '//',
    '%2f',
    '%00',
    '%0a',
    '.',
    '%20',
    '?x=/../..//',
    '#x',
    ';x',
    '/%2e',
    '/%2e%2e',
    '/../public/x',
    '/./',
  ],
  ...[
    '\\..\\..\\public',
    '%2f..%2f..%2fpublic/x',
    '/%2e%2e/private/x',
    '/..%2fpublic',
    '%3f',
    '%23/../public',
    '/..;/..;/public/x',
    ';/x',
    '/.%20',
  ],
]

/** Segments whose number and order matter: one server removes some before others. */
const dots = ['.', '..', '..', '..;', '%2e%2e', '.%2e', '. .', '...', '.. ', '']
const names = ['private', 'admin', 'public', 'zz', 'x', 'secret', 'pu%2562lic', '%61', 'a%25', 'a b']

const hex = (code: number, upper: boolean): string => {
  const digits = code.toString(16).padStart(2, '0')
  return `%${upper ? digits.toUpperCase() : digits}`
}

export function* hostileTargets(seed: number, count: number): Generator<string> {
  const below = numbersFrom(seed)
  const one = (list: readonly string[]): string => list[below(list.length)]!
  const changes: readonly ((target: string) => string)[] = [
    (target) => one(before) + target,
    (target) => target + one(after),
    (target) => replacedAt(target, placeOf(target, '/', below), one(separators)),
    (target) => replacedAt(target, placeOf(target, '/', below), one(separators)),
    (target) => insertedAt(target, below(target.length + 1), one(within)),
    (target) => encodedAt(target, below(target.length), below(4)),
    (target) => capitalAt(target, below(target.length)),
    (target) => encodedAt(target, below(target.length), below(4)),
  ]
  const composed = (): string => {
    const segments = Array.from({ length: 2 + below(5) }, () => one(below(2) === 0 ? dots : names))
    return segments.map((segment) => (below(8) === 0 ? one(separators) : '/') + segment).join('')
  }
  for (let made = 0; made < count; made += 1) {
    const isComposed = made % 4 === 3
    let target = isComposed ? composed() : one(bases)
    for (let left = isComposed ? below(2) : 1 + below(4); left > 0; left -= 1)
      target = changes[below(changes.length)]!(target)
    // Spaces end a target.
    yield target.replaceAll(' ', '%20')
  }
}

function placeOf(text: string, sought: string, below: (limit: number) => number): number {
  const places = [...text].flatMap((each, index) => (each === sought ? [index] : []))
  return places[below(Math.max(1, places.length))] ?? 0
}

const replacedAt = (text: string, place: number, by: string): string =>
  text.slice(0, place) + by + text.slice(place + 1)

const insertedAt = (text: string, place: number, what: string): string =>
  text.slice(0, place) + what + text.slice(place)

/** Or a letter that has the same small one to some servers. */
function capitalAt(text: string, place: number): string {
  const letter = text[place]!
  const alike = text.length % 2 === 0 ? { i: '%C4%B0', s: '%C5%BF', k: '%e2%84%aa' }[letter] : undefined
  return replacedAt(text, place, alike ?? letter.toUpperCase())
}

/** In small or capital digits, or a second time. */
function encodedAt(text: string, place: number, how: number): string {
  const code = text.charCodeAt(place)
  return replacedAt(text, place, how === 3 ? `%25${hex(code, false).slice(1)}` : hex(code, how === 1))
}
