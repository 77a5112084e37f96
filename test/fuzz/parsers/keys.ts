/** Certificates, keys, sealed values and the distinguished names in them. */
import { readdirSync, readFileSync } from 'node:fs'
import { Sealer } from '../../../src/ground/core/seal.js'
import { commonNameOf } from '../../../src/ground/core/text/distinguished-name.js'
import { checkSeed } from '../../../src/ground/nats/login-files.js'
import {
  DerError,
  derBits,
  derContent,
  derMembers,
  derOid,
  derTags,
  derValues,
} from '../../../src/ground/pki/der.js'
import { signedPrincipals } from '../../../src/ground/pki/ssh-certificate.js'
import { parseSshPublicKey, sshPublicKeyText } from '../../../src/ground/pki/ssh-public-key.js'
import { readStrings, SshReader, string } from '../../../src/ground/pki/ssh-wire.js'
import {
  certificateFacts,
  keyTypeOf,
  leafFacts,
  readCertificates,
  readPrivateKey,
} from '../../../src/ground/pki/x509.js'
import { exampleSshKey } from '../../../src/words/resource/kind/examples.js'
import { expectSame, expectThat, type FuzzedParser, read, refused, tried } from '../engine/parser.js'

const dir = 'fixtures/certificates'
const pems = (): string[] =>
  readdirSync(dir)
    .filter((name) => name.endsWith('.pem'))
    .map((name) => readFileSync(`${dir}/${name}`, 'utf8'))

const derOf = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[^-]*-----|\s/g, ''), 'base64')
const pemOf = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`

const certificatesMax = 10

function factsOf(pem: string): unknown {
  const result = readCertificates(pem, certificatesMax)
  if (!result.ok) return refused(result.problem.msg)
  const again = readCertificates(result.value.pem, certificatesMax)
  expectThat(again.ok && again.value.pem === result.value.pem, 'certificates that are written and read again')
  return result.value.certificates.map((each) =>
    [certificateFacts(each), leafFacts(each), keyTypeOf(each)].map((facts) => facts.ok),
  )
}

const pem: FuzzedParser = {
  name: 'PEM',
  sources: ['ground/pki/x509.ts', 'delivery/deliver/kind/servers.ts'],
  seeds: pems,
  words: [
    '-----BEGIN CERTIFICATE-----\n',
    '-----END CERTIFICATE-----\n',
    '-----BEGIN ',
    '-----',
    'PRIVATE KEY',
    '\r\n',
    '=',
  ],
  msPerKiB: 60,
  read: (bytes) => {
    const text = bytes.toString()
    const key = readPrivateKey(text)
    const found = factsOf(text)
    return key.ok || Array.isArray(found) ? read([key.ok, found]) : (found as { refused: string })
  },
}

/** The bytes in PEM, so that changes are within the certificate. */
const der: FuzzedParser = {
  name: 'certificates in DER',
  sources: ['ground/pki/der.ts', 'ground/pki/x509.ts'],
  seeds: () =>
    pems()
      .filter((each) => each.includes('BEGIN CERTIFICATE'))
      .map(derOf),
  bytesMax: 16 * 1024,
  msPerKiB: 60,
  read: (bytes) => {
    const found = tried(() => {
      const values = derValues(bytes)
      for (const value of values) {
        tried(() => derMembers(value, derTags.sequence), DerError)
        tried(() => derContent(value, derTags.octetString), DerError)
        tried(() => derOid(value), DerError)
        tried(() => derBits(value), DerError)
      }
      return values.length
    }, DerError)
    const facts = factsOf(pemOf(bytes))
    return Array.isArray(facts) ? read(facts) : 'refused' in found ? found : (facts as { refused: string })
  },
}

const ed25519 = exampleSshKey
const ecdsa = `ecdsa-sha2-nistp256 ${Buffer.concat([string('ecdsa-sha2-nistp256'), string('nistp256'), string(Buffer.alloc(65, 4))]).toString('base64')} x`
const rsa = `ssh-rsa ${Buffer.concat([string('ssh-rsa'), string(Buffer.from([1, 0, 1])), string(Buffer.concat([Buffer.of(0), Buffer.alloc(256, 0xff)]))]).toString('base64')}`

const sshKeys: FuzzedParser = {
  name: 'SSH keys',
  sources: ['ground/pki/ssh-public-key.ts', 'ground/pki/ssh-wire.ts', 'ground/pki/ssh-certificate.ts'],
  seeds: () => [
    ed25519,
    `${ed25519} alice@example.com`,
    ecdsa,
    rsa,
    `from="1.2.3.4" ${ed25519}`,
    'ssh-ed25519-cert-v01@openssh.com AAAA',
  ],
  words: [
    'ssh-ed25519 ',
    'ssh-rsa ',
    'ecdsa-sha2-nistp521 ',
    ' ',
    '\t',
    '=',
    'AAAAC3NzaC1lZDI1NTE5AAAAI',
    'PRIVATE KEY',
  ],
  msPerKiB: 20,
  read: (bytes) => {
    const text = bytes.toString()
    signedPrincipals(text)
    const strings = readStrings(bytes)
    if (strings !== undefined)
      expectSame(
        Buffer.concat(strings.map((each) => string(each))).equals(bytes),
        true,
        'strings that are written again',
      )
    const reader = new SshReader(bytes)
    for (let left = 20; left > 0; left -= 1) reader.string()
    const parsed = parseSshPublicKey(text)
    if (!parsed.ok) return refused(parsed.problem.msg)
    const again = parseSshPublicKey(sshPublicKeyText(parsed.value))
    expectSame(again, parsed, 'a key that is written and read again')
    return read(parsed.value)
  },
}

const names: FuzzedParser = {
  name: 'distinguished names',
  sources: ['ground/core/text/distinguished-name.ts'],
  seeds: () => [
    'CN=device-1,O=Example',
    '/O=Example/CN=alice',
    'OID.2.5.4.3=#0c05416C696365+O="a,b"',
    'cn = "a\\"b" ; o=x',
    'CN=a\\,b\\C3\\A9\\ ',
  ],
  words: ['CN=', '2.5.4.3=', '#0c82ffff', '#1e0441', '\\', '"', '/CN=', '+', ';', '\\x41'],
  read: (bytes) => read(commonNameOf(bytes.toString())),
}

const sealer = new Sealer([Buffer.alloc(32, 7)])
const sealed = sealer.seal('a secret', 'owner')

const secrets: FuzzedParser = {
  name: 'sealed values and logins',
  sources: ['ground/core/seal.ts', 'ground/nats/login-files.ts'],
  seeds: () => [sealed, 'v1.AAAA', 'SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY\n'],
  words: ['v1.', 'SU'],
  read: (bytes) => {
    const text = bytes.toString()
    tried(() => checkSeed(bytes), Error)
    const opened = tried(() => sealer.unseal(text, 'owner'), Error)
    // Base64 has several spellings of the same bytes.
    if ('value' in opened) expectSame(opened.value, 'a secret', 'a sealed value that was changed')
    return opened
  },
}

export const keyParsers: readonly FuzzedParser[] = [pem, der, sshKeys, names, secrets]
