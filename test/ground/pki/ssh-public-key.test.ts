/** Public keys as users paste them, and everything else that they paste. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import { parseSshPublicKey, sshPublicKeyText } from '../../../src/ground/pki/ssh-public-key.js'
import { mpint, string } from '../../../src/ground/pki/ssh-wire.js'
import { sshPublicKeyField } from '../../../src/words/resource/fields/ssh-key-fields.js'
import { keyKinds, makeKeyFiles, withoutSshKeygen } from '../../harness/ssh.js'
import { tempDir } from '../../harness/temp-dir.js'

const line = (algorithm: string, ...parts: Buffer[]): string =>
  `${algorithm} ${Buffer.concat([string(algorithm), ...parts]).toString('base64')}`

const ed25519 = line('ssh-ed25519', string(Buffer.alloc(32, 7)))

/** An odd number of this many bits. */
const odd = (bits: number): Buffer =>
  Buffer.from(((1n << BigInt(bits - 1)) | 1n).toString(16).padStart(Math.ceil(bits / 8) * 2, '0'), 'hex')
const rsa = (bits: number, exponent: Uint8Array = Buffer.of(1, 0, 1)): string =>
  line('ssh-rsa', mpint(exponent), mpint(odd(bits)))

const point = (() => {
  const { x = '', y = '' } = createPublicKey(
    generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    }).publicKey,
  ).export({ format: 'jwk' })
  return Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
})()
const ecdsa = (curve: string, encoded: Buffer): string =>
  line(`ecdsa-sha2-${curve}`, string(curve), string(encoded))

t.test('keys that ssh-keygen makes', { skip: withoutSshKeygen }, async (t) => {
  const dir = tempDir(t)
  for (const kind of keyKinds) {
    const { publicKey } = makeKeyFiles(dir, kind)
    const parsed = parseSshPublicKey(publicKey)
    t.ok(parsed.ok, kind.name)
    if (!parsed.ok) continue
    t.equal(parsed.value.type, kind.type)
    t.equal(parsed.value.comment, 'a comment')
    t.equal(sshPublicKeyText(parsed.value), publicKey)
  }
})

t.test('what is taken, and in which spelling it is kept', async (t) => {
  const cases = [
    { name: 'without a comment', text: ed25519, want: ed25519 },
    { name: 'a line end', text: `${ed25519}\r\n`, want: ed25519 },
    { name: 'white space', text: `  ${ed25519.replace(' ', '\t  ')}   me@here `, want: `${ed25519} me@here` },
    { name: 'a comment of several words', text: `${ed25519} of  Zoë, ☎ 5`, want: `${ed25519} of  Zoë, ☎ 5` },
    { name: 'the shortest RSA key', text: rsa(2048), want: rsa(2048) },
    { name: 'the longest', text: rsa(16_384), want: rsa(16_384) },
    { name: 'a point of the curve', text: ecdsa('nistp256', point), want: ecdsa('nistp256', point) },
  ]
  for (const { name, text, want } of cases) {
    const parsed = parseSshPublicKey(text)
    t.equal(parsed.ok ? sshPublicKeyText(parsed.value) : parsed.problem.msg, want, name)
  }
})

const secret = 'MIIEowIBAAKCAQEAtopsecret'
const base64 = ed25519.split(' ')[1]!
const offCurve = Buffer.from(point)
offCurve[40] = (offCurve[40] ?? 0) ^ 1

const refused: { name: string; text: string; says: RegExp }[] = [
  { name: 'nothing', text: '', says: /is not an SSH public key/ },
  { name: 'a word', text: 'key', says: /one line as in a \.pub file is needed/ },
  { name: 'base64 alone', text: base64, says: /is not an SSH public key/ },
  { name: 'two keys', text: `${ed25519}\n${ed25519}`, says: /is not an SSH public key/ },
  { name: 'a control character', text: `${ed25519} a\u0007b`, says: /is not an SSH public key/ },
  { name: 'a type alone', text: 'ssh-ed25519', says: /is not an SSH public key/ },
  { name: 'DSA', text: line('ssh-dss', string('')), says: /is of the type "ssh-dss": ssh-ed25519, ssh-rsa/ },
  {
    name: 'a security key',
    text: line('sk-ssh-ed25519@openssh.com'),
    says: /is of the type "sk-ssh-ed25519@/,
  },
  { name: 'a certificate', text: `ssh-ed25519-cert-v01@openssh.com ${base64}`, says: /is a certificate/ },
  { name: 'options', text: `restrict,command="x y" ${ed25519}`, says: /is preceded by options/ },
  { name: 'a known host', text: `example.com ${ed25519}`, says: /is preceded by options/ },
  { name: 'the type of another key', text: `ssh-rsa ${base64}`, says: /cut short or damaged/ },
  { name: 'no base64', text: 'ssh-ed25519 §§§§', says: /cut short or damaged/ },
  { name: 'base64 without its end', text: `ssh-ed25519 ${base64.slice(0, -3)}`, says: /cut short/ },
  { name: 'base64 that says more than bytes', text: `ssh-ed25519 ${base64}=`, says: /cut short/ },
  { name: 'a key that is too short', text: line('ssh-ed25519', string(Buffer.alloc(31))), says: /damaged/ },
  {
    name: 'bytes behind the key',
    text: line('ssh-ed25519', string(Buffer.alloc(32)), string('')),
    says: /damaged/,
  },
  {
    name: 'a length that leads too far',
    text: line('ssh-ed25519', Buffer.of(255, 255, 255, 255)),
    says: /damaged/,
  },
  {
    name: 'RSA of 2047 bits',
    text: rsa(2047),
    says: /is an RSA key of 2047 bits: 2048 to 16384 are allowed/,
  },
  { name: 'RSA of 16385 bits', text: rsa(16_385), says: /is an RSA key of 16385 bits/ },
  { name: 'an even exponent', text: rsa(2048, Buffer.of(2)), says: /damaged/ },
  { name: 'the exponent 1', text: rsa(2048, Buffer.of(1)), says: /damaged/ },
  { name: 'an endless exponent', text: rsa(2048, odd(65)), says: /damaged/ },
  {
    name: 'a modulus with a zero in front',
    text: line('ssh-rsa', mpint(Buffer.of(3)), string(Buffer.concat([Buffer.of(0, 0), odd(2048)]))),
    says: /damaged/,
  },
  {
    name: 'a negative modulus',
    text: line('ssh-rsa', mpint(Buffer.of(3)), string(odd(2048))),
    says: /damaged/,
  },
  { name: 'an empty modulus', text: line('ssh-rsa', mpint(Buffer.of(3)), string('')), says: /damaged/ },
  { name: 'a point off the curve', text: ecdsa('nistp256', offCurve), says: /damaged/ },
  { name: 'a point of another curve', text: ecdsa('nistp384', point), says: /damaged/ },
  {
    name: 'a compressed point',
    text: ecdsa('nistp256', Buffer.concat([Buffer.of(2), point.subarray(1, 33)])),
    says: /damaged/,
  },
  {
    name: 'another curve inside',
    text: line('ecdsa-sha2-nistp256', string('nistp384'), string(point)),
    says: /damaged/,
  },
  { name: 'a PEM key', text: `-----BEGIN RSA PRIVATE KEY-----\n${secret}`, says: /is a private key/ },
  {
    name: 'an OpenSSH key',
    text: `-----BEGIN OPENSSH PRIVATE KEY-----\n${secret}`,
    says: /is a private key/,
  },
  { name: 'its body alone', text: `b3BlbnNzaC1rZXktdjEAAAAA${secret}`, says: /is a private key/ },
  {
    name: 'both halves',
    text: `${ed25519}\n-----BEGIN PRIVATE KEY-----\n${secret}`,
    says: /is a private key/,
  },
  {
    name: 'a key of PuTTY',
    text: `PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n${secret}`,
    says: /is a private key/,
  },
  { name: 'some other secret', text: `${secret} x y`, says: /is not an SSH public key/ },
]

t.test('what is refused, in a sentence that repeats nothing of it', async (t) => {
  const check = compileCheck(sshPublicKeyField.schema)
  for (const { name, text, says } of refused) {
    const sentence = check(text, 'public_key') ?? 'nothing is wrong'
    t.match(sentence, says, name)
    t.match(sentence, /^"public_key" is [^\n]*\.$/, 'a sentence')
    t.notMatch(sentence, secret, 'no secret is repeated')
    t.ok(sentence.length < 300)
  }
})

t.test('no text is too strange to be looked at', async () => {
  const words = fc.constantFrom(...ed25519.split(' '), 'ssh-rsa', ' ', '\n', '\0', '=')
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(words).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(text, (given) => {
      const parsed = parseSshPublicKey(given)
      return !parsed.ok || parseSshPublicKey(sshPublicKeyText(parsed.value)).ok
    }),
    { seed: 1, numRuns: 3000 },
  )
})

t.test('a key with any byte changed is another one or none, and never half of one', async () => {
  const blob = Buffer.from(base64, 'base64')
  fc.assert(
    fc.property(fc.nat(blob.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
      const changed = Buffer.from(blob)
      changed[at] = (changed[at] ?? 0) ^ by
      const parsed = parseSshPublicKey(`ssh-ed25519 ${changed.toString('base64')}`)
      // Behind the algorithm and both lengths come the 32 bytes of the key.
      return parsed.ok === at >= blob.length - 32
    }),
    { seed: 1, numRuns: 500 },
  )
})
