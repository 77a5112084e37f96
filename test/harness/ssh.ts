/** OpenSSH's own programs, which decide whether keys and certificates are valid. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const hasSshKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined

/** Why a test must be skipped; false if it can run. */
export const withoutSshKeygen = hasSshKeygen ? false : 'no ssh-keygen'

/** Every kind of key that users have. */
export const keyKinds = [
  { name: 'ed25519', type: 'ed25519', bits: undefined },
  { name: 'rsa-2048', type: 'rsa', bits: 2048 },
  { name: 'ecdsa-256', type: 'ecdsa', bits: 256 },
  { name: 'ecdsa-384', type: 'ecdsa', bits: 384 },
  { name: 'ecdsa-521', type: 'ecdsa', bits: 521 },
] as const

export interface KeyPairFiles {
  /** The file of the private key; the name of the public key's file ends in `.pub`. */
  readonly file: string
  readonly publicKey: string
  readonly privateKey: string
}

/** A key pair in files of a new directory. */
export function makeKeyFiles(
  dir: string,
  { type, bits }: { readonly type: string; readonly bits?: number | undefined } = keyKinds[0],
): KeyPairFiles {
  const file = join(mkdtempSync(join(dir, 'key-')), 'key')
  const size = bits === undefined ? [] : ['-b', String(bits)]
  execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', 'a comment', '-f', file])
  return {
    file,
    publicKey: readFileSync(`${file}.pub`, 'utf8').trim(),
    privateKey: readFileSync(file, 'utf8'),
  }
}

const utc = { ...process.env, TZ: 'UTC', LC_ALL: 'C' }

/** The parts of `256 SHA256:… a comment (ED25519)`. */
const listed = (publicKey: string): string[] =>
  execFileSync('ssh-keygen', ['-l', '-f', '-'], { input: `${publicKey}\n`, encoding: 'utf8' }).split(' ')

export const bitsOf = (publicKey: string): number => Number(listed(publicKey)[0])

/** `SHA256:…` of a public key. */
export const fingerprintOf = (publicKey: string): string => listed(publicKey)[1] ?? ''

/** A certificate as `ssh-keygen -L` shows it. */
interface ToldCertificate {
  /** `ssh-ed25519-cert-v01@openssh.com host certificate` */
  readonly type: string
  /** Fingerprints of the public key and of the authority's key. */
  readonly fingerprint: string
  readonly authority: string
  /** The algorithm of the signature. */
  readonly signature: string
  readonly keyId: string
  readonly serial: string
  readonly validAfter: string
  readonly validBefore: string
  readonly principals: readonly string[]
  readonly criticalOptions: readonly string[]
  readonly extensions: readonly string[]
}

export function shownCertificate(certificate: string): ToldCertificate {
  const input = `${certificate}\n`
  const text = execFileSync('ssh-keygen', ['-L', '-f', '-'], { input, encoding: 'utf8', env: utc })
  const one = (name: string): string => new RegExp(`^ +${name}: (.*)$`, 'm').exec(text)?.[1] ?? ''
  const [, authority = '', signature = ''] = /(\S+) \(using (.*)\)$/.exec(one('Signing CA')) ?? []
  const [, validAfter = '', validBefore = ''] = /^from (\S+) to (\S+)$/.exec(one('Valid')) ?? []
  return {
    type: one('Type'),
    fingerprint: one('Public key').split(' ')[1] ?? '',
    authority,
    signature,
    keyId: one('Key ID'),
    serial: one('Serial'),
    validAfter: `${validAfter}Z`,
    validBefore: `${validBefore}Z`,
    principals: entries(text, 'Principals'),
    criticalOptions: entries(text, 'Critical Options'),
    extensions: entries(text, 'Extensions'),
  }
}

/** The indented lines below a heading; none if it says `(none)`. */
function entries(text: string, heading: string): string[] {
  const [, block = ''] = new RegExp(`^ {8}${heading}: ?\\n((?: {16}.*\\n)*)`, 'm').exec(text) ?? []
  return block.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
}
