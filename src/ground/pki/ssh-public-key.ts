/**
 * SSH public keys: a line of text as in a `.pub` file (the AUTHORIZED_KEYS FILE FORMAT of sshd(8), without options), and
 * the bytes in it (RFC 4253, section 6.6; RFC 5656, section 3.1; RFC 8709, section 4).
 *
 * Problems never quote the line: it may be a private key that was pasted in the wrong place. Their messages follow the
 * name of a field, as in "public_key is cut short".
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { ok, problem, type Result } from '../core/errors.js'
import { mpint, readStrings, string } from './ssh-wire.js'

/** Shorter keys can be factored (NIST SP 800-131A); OpenSSH refuses longer ones (SSHBUF_MAX_BIGNUM). */
const sshRsaBitsMin = 2048
const sshRsaBitsMax = 16_384

export const sshKeyTypes = ['rsa', 'ecdsa', 'ed25519'] as const
export type SshKeyType = (typeof sshKeyTypes)[number]

export interface SshPublicKey {
  readonly type: SshKeyType
  /** The protocol's name of the format, such as `ssh-ed25519`. */
  readonly algorithm: string
  /** Everything that identifies the key, the algorithm in front. */
  readonly blob: Buffer
  readonly comment: string
}

/** Curves by RFC 5656's names. `name` is that of JSON Web Keys and of OpenSSL. */
export const sshCurves = {
  nistp256: { name: 'P-256', bits: 256, coordinateBytes: 32, hash: 'sha256' },
  nistp384: { name: 'P-384', bits: 384, coordinateBytes: 48, hash: 'sha384' },
  nistp521: { name: 'P-521', bits: 521, coordinateBytes: 66, hash: 'sha512' },
} as const

export type SshCurve = keyof typeof sshCurves

export const sshCurveNames = Object.keys(sshCurves) as SshCurve[]

const ecdsaPrefix = 'ecdsa-sha2-'

/** Returns what is wrong with the bytes after the algorithm's name, if anything. */
type CheckParts = (parts: readonly Buffer[]) => string | undefined

interface Algorithm {
  readonly type: SshKeyType
  readonly check: CheckParts
}

const algorithms: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ['ssh-ed25519', { type: 'ed25519', check: checkEd25519 }],
  ['ssh-rsa', { type: 'rsa', check: checkRsa }],
  ...sshCurveNames.map(
    (curve) => [`${ecdsaPrefix}${curve}`, { type: 'ecdsa', check: checkEcdsa(curve) }] as const,
  ),
])

export const sshAlgorithms = [...algorithms.keys()]

const allowed = `${sshAlgorithms.join(', ')} are allowed`
const damaged = 'is cut short or damaged'

export function parseSshPublicKey(text: string): Result<SshPublicKey> {
  if (privateKey.test(text)) return problem(isPrivate)
  const [, algorithm = '', base64 = '', comment = ''] = line.exec(text.trim()) ?? []
  const known = algorithms.get(algorithm)
  if (known === undefined) return problem(unknownAlgorithm(text, algorithm))
  const blob = Buffer.from(base64, 'base64')
  if (blob.toString('base64') !== base64) return problem(damaged)
  const [name, ...parts] = readStrings(blob) ?? []
  if (name?.toString('latin1') !== algorithm) return problem(damaged)
  const wrong = known.check(parts)
  return wrong === undefined ? ok({ type: known.type, algorithm, blob, comment }) : problem(wrong)
}

/** PEM of any kind, PuTTY's files, and OpenSSH's private keys without the lines around them. */
const privateKey = /PRIVATE KEY|PuTTY-User-Key-File|Private-Lines|b3BlbnNzaC1rZXktdjE/i
const isPrivate =
  'is a private key: send the public key, the line of the .pub file, and make a new pair, for this one has been disclosed'

/** Algorithm, base64 and optionally a comment, usually the owner's name. */
const line = /^(\S+)[ \t]+(\S+)(?:[ \t]+(?![ \t])(\P{Cc}*))?$/u

const certificateSuffix = '-cert-v01@openssh.com'
/** The protocol's names, and nothing that could be a secret. */
const algorithmName = /^(?:ssh|sk-ssh|sk-ecdsa|ecdsa|x509v3)-[a-z0-9@.-]{1,64}$/

function unknownAlgorithm(text: string, algorithm: string): string {
  if (algorithm.endsWith(certificateSuffix)) return 'is a certificate: send the public key that it certifies'
  if (algorithmName.test(algorithm)) return `is of the type "${algorithm}": ${allowed}`
  const [, ...later] = text.trim().split(/[ \t]+/)
  if (later.some((word) => algorithms.has(word)))
    return 'is preceded by options: the key alone is allowed, as in a .pub file'
  return `is not an SSH public key: one line as in a .pub file is needed, and ${allowed}`
}

function checkEd25519(parts: readonly Buffer[]): string | undefined {
  return parts.length === 1 && parts[0]?.length === 32 ? undefined : damaged
}

function checkRsa(parts: readonly Buffer[]): string | undefined {
  const [exponent, modulus] = parts.map(positive)
  if (parts.length !== 2 || exponent === undefined || modulus === undefined) return damaged
  // OpenSSL refuses longer exponents with large moduli (OPENSSL_RSA_MAX_PUBEXP_BITS); even ones are invalid.
  const isUsable = exponent % 2n === 1n && exponent >= 3n && exponent < 2n ** 64n && modulus % 2n === 1n
  if (!isUsable) return damaged
  const bits = modulus.toString(2).length
  return bits >= sshRsaBitsMin && bits <= sshRsaBitsMax
    ? undefined
    : `is an RSA key of ${bits} bits: ${sshRsaBitsMin} to ${sshRsaBitsMax} are allowed`
}

/** A positive number in its canonical encoding; undefined for any other bytes. */
function positive(bytes: Buffer): bigint | undefined {
  if (bytes.length === 0 || !mpint(bytes).subarray(4).equals(bytes)) return undefined
  return BigInt(`0x${bytes.toString('hex')}`)
}

/** A point of the curve in its uncompressed form (SEC 1, section 2.3.3). */
function checkEcdsa(curve: SshCurve): CheckParts {
  const { name, coordinateBytes } = sshCurves[curve]
  return (parts) => {
    const [identifier, point] = parts
    if (parts.length !== 2 || identifier?.toString('latin1') !== curve) return damaged
    if (point?.length !== 1 + 2 * coordinateBytes || point[0] !== 4) return damaged
    const x = point.subarray(1, 1 + coordinateBytes).toString('base64url')
    const y = point.subarray(1 + coordinateBytes).toString('base64url')
    try {
      createPublicKey({ key: { kty: 'EC', crv: name, x, y }, format: 'jwk' })
      return undefined
    } catch {
      return damaged
    }
  }
}

/** The line of a `.pub` file. */
export const sshPublicKeyText = ({ algorithm, blob, comment }: SshPublicKey): string =>
  `${algorithm} ${blob.toString('base64')}${comment === '' ? '' : ` ${comment}`}`

/** The public half of a key pair. */
export function sshPublicKeyOf(privateKey: KeyObject): SshPublicKey {
  const publicKey = createPublicKey(privateKey as never)
  const { kty, crv, x = '', y = '', e = '', n = '' } = publicKey.export({ format: 'jwk' })
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64url')
  const of = (type: SshKeyType, algorithm: string, ...parts: Buffer[]): SshPublicKey => ({
    type,
    algorithm,
    blob: Buffer.concat([string(algorithm), ...parts]),
    comment: '',
  })
  if (crv === 'Ed25519') return of('ed25519', 'ssh-ed25519', string(bytes(x)))
  if (kty === 'RSA') return of('rsa', 'ssh-rsa', mpint(bytes(e)), mpint(bytes(n)))
  const curve = sshCurveNames.find((each) => sshCurves[each].name === crv)
  if (curve === undefined) throw new Error(`SSH has no keys of the kind ${kty} ${crv}.`)
  const point = Buffer.concat([Buffer.of(4), bytes(x), bytes(y)])
  return of('ecdsa', `${ecdsaPrefix}${curve}`, string(curve), string(point))
}

/** For text that was checked before. */
export function checkedSshPublicKey(text: string): SshPublicKey {
  const parsed = parseSshPublicKey(text)
  if (!parsed.ok) throw new Error(`A stored public key ${parsed.problem.msg}.`)
  return parsed.value
}
