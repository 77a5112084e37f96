/** Values that are read from certificates and keys, against the options with which OpenSSL made them. */
import { X509Certificate } from 'node:crypto'
import t from 'tap'
import {
  certificateFacts,
  keyTypeOf,
  leafFacts,
  readCertificates,
  readPrivateKey,
} from '../../../src/ground/pki/x509.js'
import { fixturePem } from '../../harness/certificates.js'

const certificate = (name: string) => new X509Certificate(fixturePem(name))

function factsOf(name: string) {
  const facts = leafFacts(certificate(name))
  if (!facts.ok) throw new Error(facts.problem.msg)
  return facts.value
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

t.test('every part of a subject, alternative names and usages', (t) => {
  const { not_before, not_after, serial_number, ...facts } = factsOf('rsa')
  t.strictSame(facts, {
    subject_common_name: 'rsa.example',
    subject_organization: 'Büro, "Eins"',
    subject_organizational_unit: 'Erste',
    subject_locality: 'Zürich',
    subject_province: 'Zürich',
    subject_country: 'CH',
    issuer_common_name: 'rsa.example',
    subject_alternative_names: {
      dns_names: ['rsa.example', '*.rsa.example'],
      ips: ['192.0.2.7', '2001:db8::7'],
    },
    key_usages: ['digital_signature', 'key_encipherment'],
    extended_key_usages: ['server_auth', '1.3.6.1.4.1.99999.7'],
  })
  t.match(not_before, time)
  t.match(not_after, time)
  t.ok(not_before < not_after)
  t.match(serial_number, /^[0-9a-f]{2,40}$/)
  t.end()
})

t.test('a subject of one part, without alternative names', (t) => {
  t.match(factsOf('ed25519'), {
    subject_common_name: null,
    issuer_common_name: null,
    subject_organization: 'Nameless',
    subject_country: null,
    subject_alternative_names: { dns_names: [], ips: [] },
    key_usages: ['key_agreement', 'decipher_only'],
    extended_key_usages: [],
  })
  t.end()
})

t.test('the issuer of a certificate, which is not its subject', (t) => {
  const { subject_common_name, issuer_common_name } = factsOf('ecdsa')
  t.strictSame([subject_common_name, issuer_common_name], ['ecdsa.example', 'Weir Test Intermediate'])
  t.end()
})

t.test('five hundred names', (t) => {
  const { dns_names } = factsOf('many-names').subject_alternative_names
  t.equal(dns_names.length, 500)
  t.equal(dns_names.at(-1), 'host-500.many.example')
  t.end()
})

t.test('an authority', (t) => {
  t.match(certificateFacts(certificate('authority')), {
    ok: true,
    value: {
      subject_common_name: 'Weir Test Root',
      key_usages: ['cert_sign', 'crl_sign'],
      extended_key_usages: [],
    },
  })
  t.end()
})

t.test('a certificate whose extensions are not DER is refused as such', (t) => {
  const { raw } = certificate('rsa')
  const keyUsage = Buffer.from('0603551d0f0404', 'hex')
  const at = raw.indexOf(keyUsage) + keyUsage.length
  t.ok(at > keyUsage.length, 'the extension is found')
  // The bit string within now reaches beyond its extension.
  const broken = Buffer.from(raw)
  broken[at + 1] = 0x7f
  t.strictSame(leafFacts(new X509Certificate(broken)), {
    ok: false,
    problem: { msg: 'holds a malformed certificate' },
  })
  t.end()
})

t.test('types of keys', (t) => {
  const types = { rsa: 'rsa', ecdsa: 'ecdsa', ed25519: 'ed25519' }
  for (const [name, type] of Object.entries(types))
    t.strictSame(keyTypeOf(certificate(name)), { ok: true, value: type })
  const refused: [string, RegExp][] = [
    ['rsa-1024', /RSA key of 1024 bits: 2048 to 8192 are allowed/],
    ['secp256k1', /curve secp256k1: P-256, P-384 and P-521/],
    ['ed448', /type ed448: RSA, ECDSA and Ed25519/],
  ]
  for (const [name, says] of refused)
    t.match(keyTypeOf(certificate(name)), { ok: false, problem: { msg: says } })
  t.end()
})

const texts: { name: string; text: string; says: RegExp }[] = [
  { name: 'nothing', text: '', says: /holds no certificate/ },
  { name: 'words', text: 'my certificate', says: /holds no certificate/ },
  { name: 'a private key', text: fixturePem('ecdsa.key'), says: /holds a private key/ },
  {
    name: 'a private key behind its certificate',
    text: fixturePem('ecdsa') + fixturePem('ecdsa.key'),
    says: /holds a private key/,
  },
  { name: 'a request', text: fixturePem('request'), says: /another type than CERTIFICATE/ },
  { name: 'one cut off', text: fixturePem('rsa').slice(0, 400), says: /cut off/ },
  {
    name: 'one with a piece missing',
    text: fixturePem('rsa').replace(/\n.{64}\n.{64}\n/, '\n'),
    says: /malformed/,
  },
  { name: 'what is no base64', text: fixturePem('rsa').replace(/MII/, '!!!'), says: /malformed/ },
  { name: 'too many', text: fixturePem('ecdsa').repeat(11), says: /holds 11 certificates: at most 10/ },
]

t.test('text that is not a list of certificates', (t) => {
  for (const { name, text, says } of texts)
    t.match(readCertificates(text, 10), { ok: false, problem: { msg: says } }, name)
  t.end()
})

t.test('text around certificates is left out, and line ends are normalized', (t) => {
  const plain = fixturePem('chain')
  const annotated = `subject=CN = a\n${plain.replaceAll('\n', '\r\n')}\r\nThat was it.`
  const read = readCertificates(annotated, 10)
  t.match(read, { ok: true, value: { pem: plain } })
  t.equal(read.ok && read.value.certificates.length, 3)
  t.match(readCertificates(plain, 10), { ok: true, value: { pem: plain } }, 'plain text stays as it is')
  t.end()
})

t.test('private keys in every form', (t) => {
  for (const name of ['rsa.key', 'ecdsa.key', 'ecdsa-sec1.key', 'ed25519.key'])
    t.equal(readPrivateKey(fixturePem(name)).ok, true, name)
  for (const name of ['encrypted.key', 'encrypted-ec.key'])
    t.match(readPrivateKey(fixturePem(name)), { ok: false, problem: { msg: /is encrypted/ } }, name)
  for (const text of ['', 'secret', fixturePem('rsa'), fixturePem('rsa.key').slice(0, 300)])
    t.match(readPrivateKey(text), { ok: false, problem: { msg: /is not a private key in PEM form/ } })
  t.end()
})
