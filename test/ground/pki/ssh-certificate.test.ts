/** The bytes of certificates: read back by a reader of the format, and their signatures verified. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  type SshCertificate,
  signSshCertificate,
  sshNonceBytes,
} from '../../../src/ground/pki/ssh-certificate.js'
import { sshPublicKeyOf } from '../../../src/ground/pki/ssh-public-key.js'
import { readStrings } from '../../../src/ground/pki/ssh-wire.js'

const pem = {
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
} as const

const authorities = [
  { name: 'ed25519', pair: generateKeyPairSync('ed25519', pem), signature: 'ssh-ed25519' },
  {
    name: 'rsa',
    pair: generateKeyPairSync('rsa', { modulusLength: 2048, ...pem }),
    signature: 'rsa-sha2-512',
  },
  ...(['256', '384', '521'] as const).map((bits) => ({
    name: `ecdsa ${bits}`,
    pair: generateKeyPairSync('ec', { namedCurve: `P-${bits}`, ...pem }),
    signature: `ecdsa-sha2-nistp${bits}`,
  })),
].map(({ name, pair, signature }) => ({ name, signature, key: createPrivateKey(String(pair.privateKey)) }))

/** Takes one piece after the other. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get at(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new Error('It ends too early.')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  uint32 = (): number => this.#take(4).readUInt32BE()
  uint64 = (): bigint => this.#take(8).readBigUInt64BE()
  string = (): Buffer => this.#take(this.uint32())
}

/** How many strings a key has behind its algorithm's name. */
const keyParts = (algorithm: string): number => (algorithm.startsWith('ssh-ed25519') ? 1 : 2)

function optionsOf(bytes: Buffer): [string, string][] {
  const strings = readStrings(bytes) ?? []
  const pairs: [string, string][] = []
  for (let at = 0; at < strings.length; at += 2) {
    const [value] = readStrings(strings[at + 1]!) ?? []
    pairs.push([String(strings[at]), String(value ?? '')])
  }
  return pairs
}

function read(line: string) {
  const [algorithm = '', base64 = ''] = line.split(' ')
  const blob = Buffer.from(base64, 'base64')
  const reader = new Reader(blob)
  const name = String(reader.string())
  if (name !== algorithm) throw new Error('Two algorithms.')
  const nonce = reader.string()
  const parts = Array.from({ length: keyParts(algorithm) }, () => reader.string())
  const read = {
    algorithm,
    nonce,
    parts,
    serial: reader.uint64(),
    type: reader.uint32(),
    keyId: String(reader.string()),
    principals: (readStrings(reader.string()) ?? []).map(String),
    validAfter: reader.uint64(),
    validBefore: reader.uint64(),
    criticalOptions: optionsOf(reader.string()),
    extensions: optionsOf(reader.string()),
    reserved: reader.string(),
    authority: reader.string(),
  }
  const signed = blob.subarray(0, reader.at)
  const [signatureAlgorithm, signature] = readStrings(reader.string()) ?? []
  if (!reader.isAtEnd) throw new Error('Something stands behind the signature.')
  return { ...read, signed, signatureAlgorithm: String(signatureAlgorithm), signature: signature! }
}

/** A number of a signature at the length that node:crypto takes. */
function padded(number: Buffer, length: number): Buffer {
  const plain = number[0] === 0 ? number.subarray(1) : number
  return Buffer.concat([Buffer.alloc(length - plain.length), plain])
}

function isSigned(signed: Buffer, algorithm: string, signature: Buffer, key: KeyObject): boolean {
  const publicKey = createPublicKey(key as never)
  if (algorithm === 'ssh-ed25519') return verify(null, signed, publicKey, signature)
  if (algorithm === 'rsa-sha2-512') return verify('sha512', signed, publicKey, signature)
  const [hash, length] = ({ 256: ['sha256', 32], 384: ['sha384', 48], 521: ['sha512', 66] } as const)[
    Number(algorithm.slice(-3)) as 256 | 384 | 521
  ]
  const [r, s] = readStrings(signature) ?? []
  const both = Buffer.concat([padded(r!, length), padded(s!, length)])
  return verify(hash, signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, both)
}

const name = fc.string({ minLength: 1, maxLength: 40, unit: 'binary' })
const optionMap = fc.dictionary(fc.stringMatching(/^[!-~]{1,20}$/), fc.string({ unit: 'binary' }), {
  maxKeys: 5,
})
const seconds = fc.nat({ max: 253_402_300_799 })
const someKey = fc.constantFrom(...authorities.map(({ key }) => sshPublicKeyOf(key)))

const certificates: fc.Arbitrary<SshCertificate> = fc.record({
  type: fc.constantFrom('user' as const, 'host' as const),
  key: someKey,
  keyId: name,
  principals: fc.array(name, { maxLength: 5 }),
  validAfter: seconds,
  validBefore: seconds,
  criticalOptions: optionMap,
  extensions: optionMap,
})

const clean = (text: string): string => Buffer.from(text).toString()
const sorted = (options: Readonly<Record<string, string>>): [string, string][] =>
  Object.entries(options)
    .map(([key, value]): [string, string] => [key, clean(value)])
    .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

for (const { name: kind, key: authority, signature } of authorities) {
  t.test(`what an authority of the kind ${kind} signs`, async (t) => {
    await fc.assert(
      fc.asyncProperty(
        certificates,
        fc.uint8Array({ minLength: sshNonceBytes, maxLength: sshNonceBytes }),
        async (given, nonce) => {
          const told = read(await signSshCertificate(given, authority, nonce))
          const { blob } = sshPublicKeyOf(authority)
          t.strictSame(
            { ...told, signed: undefined, signature: undefined },
            {
              algorithm: `${given.key.algorithm}-cert-v01@openssh.com`,
              nonce: Buffer.from(nonce),
              parts: readStrings(given.key.blob)?.slice(1),
              serial: 0n,
              type: given.type === 'user' ? 1 : 2,
              keyId: clean(given.keyId),
              principals: given.principals.map(clean),
              validAfter: BigInt(given.validAfter),
              validBefore: BigInt(given.validBefore),
              criticalOptions: sorted(given.criticalOptions),
              extensions: sorted(given.extensions),
              reserved: Buffer.alloc(0),
              authority: blob,
              signed: undefined,
              signatureAlgorithm: signature,
              signature: undefined,
            },
          )
          t.ok(isSigned(told.signed, told.signatureAlgorithm, told.signature, authority))
        },
      ),
      { seed: 1, numRuns: 60 },
    )
  })
}
