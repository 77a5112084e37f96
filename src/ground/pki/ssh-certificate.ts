/**
 * Start here: only the bytes of certificates and keys. X.509 and PEM are read; OpenSSH certificates are read and
 * signed. The rights of an account to use them are in `resource`.
 *
 * OpenSSH certificates, version 01: https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.certkeys
 *
 * A certificate is a public key with its names, validity and options, signed by an authority. As text it is one line,
 * like a public key.
 */
import { type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { type SshPublicKey, sshCurveNames, sshCurves, sshPublicKeyOf } from './ssh-public-key.js'
import { mpint, readStrings, SshReader, string, uint32, uint64 } from './ssh-wire.js'

export interface SshCertificate {
  readonly type: 'user' | 'host'
  readonly key: SshPublicKey
  /** Servers log this when the certificate is used. */
  readonly keyId: string
  /**
   * Host or user names it is valid for. OpenSSH 10.3 and later refuse a certificate without any, earlier ones that of a
   * user.
   */
  readonly principals: readonly string[]
  /** Seconds since the epoch; `validBefore` is exclusive. */
  readonly validAfter: number
  readonly validBefore: number
  readonly criticalOptions: Readonly<Record<string, string>>
  readonly extensions: Readonly<Record<string, string>>
}

export const sshNonceBytes = 32

const types = { user: 1, host: 2 } as const
const serial = 0
/** Reserved by the format. */
const nothing = string('')

const signAsync = promisify<string | null, Buffer, Parameters<typeof sign>[2], Buffer>(sign)

/**
 * The certificate's line, signed with an authority's private key. `nonce`: random bytes, which keep a client from
 * choosing what is signed.
 */
export async function signSshCertificate(
  certificate: SshCertificate,
  authority: KeyObject,
  nonce: Uint8Array,
): Promise<string> {
  const algorithm = `${certificate.key.algorithm}-cert-v01@openssh.com`
  const signed = Buffer.concat([
    string(algorithm),
    string(nonce),
    partsOf(certificate.key),
    uint64(serial),
    uint32(types[certificate.type]),
    string(certificate.keyId),
    string(Buffer.concat(certificate.principals.map(string))),
    uint64(certificate.validAfter),
    uint64(certificate.validBefore),
    string(options(certificate.criticalOptions)),
    string(options(certificate.extensions)),
    nothing,
    string(sshPublicKeyOf(authority).blob),
  ])
  const blob = Buffer.concat([signed, string(await signature(signed, authority))])
  return `${algorithm} ${blob.toString('base64')}`
}

/** The names in the signed bytes of a certificate; undefined if they can't be read. */
export function signedPrincipals(certificate: string): readonly string[] | undefined {
  const [algorithm = '', encoded = ''] = certificate.split(' ')
  const parts = [...keyParts].find(([prefix]) => algorithm.startsWith(prefix))?.[1]
  if (parts === undefined) return undefined
  const reader = new SshReader(Buffer.from(encoded, 'base64'))
  // The algorithm, the nonce and the parts of the key; then its serial number and type; then the id.
  for (let skipped = 0; skipped < 2 + parts; skipped += 1) reader.string()
  reader.skip(uint64(serial).length + uint32(types.host).length)
  reader.string()
  const names = reader.string()
  return names === undefined ? undefined : readStrings(names)?.map(String)
}

/** How many strings a public key has after the name of its algorithm. */
const keyParts: ReadonlyMap<string, number> = new Map([
  ['ssh-ed25519', 1],
  ['ecdsa-sha2-', 2],
  ['ssh-rsa', 2],
])

/** The bytes of the key after the name of the algorithm. */
const partsOf = ({ algorithm, blob }: SshPublicKey): Buffer => blob.subarray(string(algorithm).length)

/** Sorted by name. A value is wrapped as a string inside the data; without a value, the data is empty. */
function options(given: Readonly<Record<string, string>>): Buffer {
  const sorted = Object.entries(given).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Buffer.concat(
    sorted.flatMap(([name, value]) => [string(name), value === '' ? nothing : string(string(value))]),
  )
}

/** RSA with SHA-512, because OpenSSH refuses SHA-1 (RFC 8332); ECDSA as in RFC 5656, section 3.1.2. */
async function signature(data: Buffer, authority: KeyObject): Promise<Buffer> {
  if (authority.asymmetricKeyType === 'ed25519') {
    return Buffer.concat([string('ssh-ed25519'), string(await signAsync(null, data, authority))])
  }
  if (authority.asymmetricKeyType === 'rsa') {
    return Buffer.concat([string('rsa-sha2-512'), string(await signAsync('sha512', data, authority))])
  }
  const { algorithm } = sshPublicKeyOf(authority)
  const { hash, coordinateBytes } = sshCurves[sshCurveNames.find((name) => algorithm.endsWith(name))!]
  const both = await signAsync(hash, data, { key: authority, dsaEncoding: 'ieee-p1363' })
  const numbers = [mpint(both.subarray(0, coordinateBytes)), mpint(both.subarray(coordinateBytes))]
  return Buffer.concat([string(algorithm), string(Buffer.concat(numbers))])
}
