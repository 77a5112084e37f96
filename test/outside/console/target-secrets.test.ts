/** The parts of a target's draft that are put into the browser's storage, and how its secrets are shown. */
import t from 'tap'
import type { Member } from '../../../src/outside/console/pages/destinations/target-members.js'
import {
  maskedTarget,
  storableTarget,
} from '../../../src/outside/console/pages/destinations/target-secrets.js'

const member = (name: string, more: Partial<Member> = {}): Member => ({
  name,
  form: 'text',
  label: 'A member',
  choiceWords: {},
  unset: '',
  isRare: false,
  isRequired: false,
  isSecret: false,
  about: '',
  example: '',
  choices: [],
  members: [],
  ...more,
})

const kind = member('http', {
  form: 'object',
  members: [
    member('url'),
    member('gzip', { form: 'switch' }),
    member('servers', { form: 'list' }),
    member('headers', { form: 'map' }),
    member('secret_headers', { form: 'map', isSecret: true }),
    member('auth', {
      form: 'one of',
      members: [member('bearer', { form: 'object', members: [member('token', { isSecret: true })] })],
    }),
  ],
})

const url = 'https://logs.example.com:8443/in'
const plain = { url, gzip: true, servers: ['a:1', 'b:2'], headers: { 'x-team': 'network' } }

interface Case {
  readonly target: Readonly<Record<string, unknown>>
  readonly stored: Readonly<Record<string, unknown>>
  readonly leftOut?: readonly string[]
}

const cases: Readonly<Record<string, Case>> = {
  'without secrets': { target: plain, stored: plain },
  'a secret': {
    target: { url, auth: { bearer: { token: 'typed' } } },
    stored: { url, auth: { bearer: {} } },
    leftOut: ['http.auth.bearer.token'],
  },
  'a secret that the API has, and one that is not typed yet': {
    target: { auth: { bearer: { token: null } }, secret_headers: { a: null, b: '' } },
    stored: { auth: { bearer: { token: null } }, secret_headers: { a: null, b: '' } },
  },
  'values of a map of secrets': {
    target: { secret_headers: { a: 'typed', b: null } },
    stored: { secret_headers: { a: '', b: null } },
    leftOut: ['http.secret_headers'],
  },
  'a member that the kind does not have': {
    target: { url, tokn: 'typed', auth: { baerer: { token: 'typed' } } },
    stored: { url, auth: {} },
    leftOut: ['http.tokn', 'http.auth.baerer'],
  },
  'values of another form': {
    target: {
      url: { token: 'typed' },
      servers: [{ token: 'typed' }],
      headers: { a: ['typed'] },
      auth: 'typed',
      gzip: { token: 'typed' },
    },
    stored: { headers: { a: '' } },
    leftOut: ['http.url', 'http.servers', 'http.headers', 'http.auth', 'http.gzip'],
  },
  'a secret in place of an object, or an object in place of a secret': {
    target: { auth: { bearer: 'typed' }, secret_headers: 'typed' },
    stored: { auth: {} },
    leftOut: ['http.auth.bearer', 'http.secret_headers'],
  },
  'a header with the name of a secret': {
    target: { headers: { authorization: 'typed', 'x-team': 'network' } },
    stored: { headers: { authorization: '', 'x-team': 'network' } },
    leftOut: ['http.headers'],
  },
  'a user in a URL': { target: { url: 'https://me:typed@a.example' }, stored: {}, leftOut: ['http.url'] },
  'a password that is being typed': {
    target: { url: 'https://me:typ' },
    stored: {},
    leftOut: ['http.url'],
  },
  'a key of AWS in a wrong place': {
    target: { url: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'.replace('EXAMPLE', 'Example') },
    stored: {},
    leftOut: ['http.url'],
  },
  'an address of IPv6': {
    target: { url: 'https://[2001:db8::7]:443/in' },
    stored: { url: 'https://[2001:db8::7]:443/in' },
  },
}

for (const [name, { target, stored, leftOut = [] }] of Object.entries(cases))
  t.test(`stored: ${name}`, async (t) => {
    t.strictSame(storableTarget(kind, target, 'http'), { target: stored, leftOut })
  })

t.test('what may be a secret is shown as a word, and no other value is', async (t) => {
  const target = {
    ...plain,
    auth: { bearer: { token: 'typed' } },
    secret_headers: { a: 'typed', b: null },
    unknown: 'perhaps a secret with a misspelled name',
  }
  t.strictSame(maskedTarget(kind, target), {
    ...target,
    auth: { bearer: { token: '(typed)' } },
    secret_headers: { a: '(typed)', b: null },
    unknown: '(typed)',
  })
  t.strictSame(maskedTarget(kind, { url: 'https://me:secret@example.com' }), { url: '(typed)' })
  t.strictSame(maskedTarget(kind, { auth: { bearer: { token: null } } }), {
    auth: { bearer: { token: null } },
  })
  t.strictSame(maskedTarget(kind, { secret_headers: 'typed' }), { secret_headers: '(typed)' })
})
