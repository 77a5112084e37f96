/** Certificates for tests of TLS, made here: of an authority of the test's own, for any name, and of any time. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { join } from 'node:path'

export interface MadeCertificate {
  /** PEM, and the paths of files that have it. */
  readonly cert: string
  readonly key: string
  readonly certFile: string
  readonly keyFile: string
}

interface CertificateOptions {
  /** Host names and IPv4 addresses. */
  readonly hosts?: readonly string[]
  /** From yesterday on. Default: a day from now; less than 0: it has expired. */
  readonly endsInHours?: number
}

export interface Authority extends MadeCertificate {
  /** `name`: of its files, too. */
  issue(name: string, options?: CertificateOptions): MadeCertificate
}

// --- DER ---

function tlv(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}
const sequence = (...members: readonly Buffer[]): Buffer => tlv(0x30, ...members)
const hex = (digits: string): Buffer => Buffer.from(digits, 'hex')

const ecdsaWithSha256 = sequence(hex('06082a8648ce3d040302'))
const nameOf = (text: string): Buffer =>
  sequence(tlv(0x31, sequence(hex('0603550403'), tlv(0x0c, Buffer.from(text)))))
const time = (ms: number): Buffer =>
  tlv(0x17, Buffer.from(new Date(ms).toISOString().replace(/^..|[-:T]|\.\d+/g, '')))
const extension = (oid: string, value: Buffer): Buffer => sequence(hex(oid), tlv(0x04, value))
const authorityOnly = extension('0603551d13', sequence(hex('0101ff')))
const altNames = (hosts: readonly string[]): Buffer =>
  extension(
    '0603551d11',
    sequence(
      ...hosts.map((host) =>
        isIPv4(host) ? tlv(0x87, Buffer.from(host.split('.').map(Number))) : tlv(0x82, Buffer.from(host)),
      ),
    ),
  )

// --- certificates ---

const hourMs = 60 * 60_000
let serial = 1

function newKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { publicKey, key: privateKey }
}

interface Signed {
  readonly issuer: string
  readonly issuerKey: string
  readonly subject: string
  readonly publicKey: Buffer
  readonly endsInHours: number
  readonly extensions: readonly Buffer[]
}

function certificate({ issuer, issuerKey, subject, publicKey, endsInHours, extensions }: Signed): string {
  serial += 1
  const body = sequence(
    tlv(0xa0, hex('020102')),
    tlv(0x02, Buffer.from([1, serial])),
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(time(Date.now() - 24 * hourMs), time(Date.now() + endsInHours * hourMs)),
    nameOf(subject),
    publicKey,
    tlv(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', body, issuerKey)
  const der = sequence(body, ecdsaWithSha256, tlv(0x03, Buffer.from([0]), signature))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** Writes into `dir`, which the caller removes. */
export function makeAuthority(dir: string, issuer = 'authority'): Authority {
  const written = (name: string, cert: string, key: string): MadeCertificate => {
    const [certFile, keyFile] = [join(dir, `${name}.pem`), join(dir, `${name}.key`)]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key, { mode: 0o600 })
    return { cert, key, certFile, keyFile }
  }
  const own = newKey()
  const made = (subject: string, publicKey: Buffer, endsInHours: number, extensions: readonly Buffer[]) =>
    certificate({ issuer, issuerKey: own.key, subject, publicKey, endsInHours, extensions })
  return {
    ...written(issuer, made(issuer, own.publicKey, 24, [authorityOnly]), own.key),
    issue: (name, { hosts = ['localhost', '127.0.0.1'], endsInHours = 24 } = {}) => {
      const { publicKey, key } = newKey()
      return written(name, made(name, publicKey, endsInHours, [altNames(hosts)]), key)
    },
  }
}
