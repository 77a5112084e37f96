/**
 * X.509 certificates (RFC 5280), and private keys, as PEM text (RFC 7468), and the facts in them, named as in the API.
 *
 * Problems never quote the text: it may be a private key that was pasted in the wrong place. Their messages follow the
 * name of a field, as in "ca_pem holds a malformed certificate".
 *
 * Node reads names, dates and keys. It does not return basic key usages, and returns alternative names as one quoted
 * text, so both are read from the extensions. Usages have the names of Go's crypto/x509 in snake case
 * (`digital_signature`, `server_auth`), as on hosted platforms; a usage without a name is shown as its object
 * identifier.
 *
 * No library does this: `@peculiar/x509` needs a global polyfill and nineteen packages more, its types alone take 25 ms of
 * CPU to load, for three extensions, and it accepts BER, such as indefinite lengths, where certificates must be DER.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { formatAddress } from '../core/address/ip.js'
import { isoSeconds } from '../core/clock.js'
import { ok, problem, type Result } from '../core/errors.js'
import { DerError, derBits, derContent, derMembers, derOid, derTags, derValues } from './der.js'

/** Contains no hyphen, so no other PEM block can be inside. */
const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const anyBlock = /-----BEGIN ([^-]*)-----/

interface CertificateList {
  /** The certificates only, with Unix line endings; text around them is dropped. */
  readonly pem: string
  /** In the order of the text; at least one. */
  readonly certificates: readonly [X509Certificate, ...X509Certificate[]]
}

/** All certificates in the text. */
export function readCertificates(text: string, countMax: number): Result<CertificateList> {
  if (text.includes('PRIVATE KEY')) return problem('holds a private key: only certificates are allowed')
  const blocks = text.match(certificateBlock) ?? []
  const [, other] = anyBlock.exec(text.replace(certificateBlock, '')) ?? []
  if (other === 'CERTIFICATE') return problem('holds a certificate that is cut off')
  if (other !== undefined) return problem('holds a PEM block of another type than CERTIFICATE')
  if (blocks.length > countMax)
    return problem(`holds ${blocks.length} certificates: at most ${countMax} are allowed`)
  const certificates: X509Certificate[] = []
  for (const block of blocks) {
    const certificate = certificateOf(block)
    if (certificate === undefined) return problem('holds a malformed certificate')
    certificates.push(certificate)
  }
  const [first, ...more] = certificates
  if (first === undefined) return problem('holds no certificate: one in PEM form is needed')
  const pem = `${blocks.join('\n')}\n`.replaceAll(/\r\n?/g, '\n')
  return ok({ pem, certificates: [first, ...more] })
}

function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

/** The private key in the text: PKCS #8, PKCS #1 or SEC 1. */
export function readPrivateKey(text: string): Result<KeyObject> {
  if (text.includes('ENCRYPTED')) return problem('is encrypted: a key without a passphrase is needed')
  try {
    return ok(createPrivateKey(text))
  } catch {
    return problem('is not a private key in PEM form (PKCS #8, PKCS #1 or SEC 1)')
  }
}

/** TLS libraries refuse shorter keys (OpenSSL security level 2); longer ones make each handshake slow. */
const rsaCertificateKeyBitsMin = 2048
const rsaCertificateKeyBitsMax = 8192

/** RFC 5280, 4.2.1.3; by the number of the bit. */
const keyUsageNames = [
  'digital_signature',
  'content_commitment',
  'key_encipherment',
  'data_encipherment',
  'key_agreement',
  'cert_sign',
  'crl_sign',
  'encipher_only',
  'decipher_only',
]

/** RFC 5280, 4.2.1.12, and those of Microsoft and Netscape that are still met. */
const extendedKeyUsageNames: Readonly<Record<string, string>> = {
  '2.5.29.37.0': 'any',
  '1.3.6.1.5.5.7.3.1': 'server_auth',
  '1.3.6.1.5.5.7.3.2': 'client_auth',
  '1.3.6.1.5.5.7.3.3': 'code_signing',
  '1.3.6.1.5.5.7.3.4': 'email_protection',
  '1.3.6.1.5.5.7.3.5': 'ipsec_end_system',
  '1.3.6.1.5.5.7.3.6': 'ipsec_tunnel',
  '1.3.6.1.5.5.7.3.7': 'ipsec_user',
  '1.3.6.1.5.5.7.3.8': 'time_stamping',
  '1.3.6.1.5.5.7.3.9': 'ocsp_signing',
  '1.3.6.1.4.1.311.10.3.3': 'microsoft_server_gated_crypto',
  '2.16.840.1.113730.4.1': 'netscape_server_gated_crypto',
  '1.3.6.1.4.1.311.2.1.22': 'microsoft_commercial_code_signing',
  '1.3.6.1.4.1.311.61.1.1': 'microsoft_kernel_code_signing',
}

const extensionOids = { keyUsage: '2.5.29.15', alternativeNames: '2.5.29.17', extendedKeyUsage: '2.5.29.37' }
/** Context-specific tags: of the extensions in a certificate, and of names (RFC 5280, 4.1 and 4.2.1.6). */
const extensionsTag = 0xa3
const dnsNameTag = 0x82
const ipAddressTag = 0x87

export const privateKeyTypes = ['rsa', 'ecdsa', 'ed25519'] as const

type PrivateKeyType = (typeof privateKeyTypes)[number]

/** The facts of any certificate. */
export const certificateFacts = (certificate: X509Certificate) =>
  reading(() => factsOf(certificate, extensionsOf(certificate)))

/** The facts of a server's certificate. */
export const leafFacts = (certificate: X509Certificate) =>
  reading(() => {
    const extensions = extensionsOf(certificate)
    const { subject, issuer } = namesOf(certificate)
    return {
      ...factsOf(certificate, extensions),
      subject_alternative_names: alternativeNames(extensions),
      issuer_common_name: firstOf(issuer, 'CN'),
      serial_number: certificate.serialNumber.toLowerCase(),
      subject_organization: firstOf(subject, 'O'),
      subject_organizational_unit: firstOf(subject, 'OU'),
      subject_locality: firstOf(subject, 'L'),
      subject_province: firstOf(subject, 'ST'),
      subject_country: firstOf(subject, 'C'),
    }
  })

/** Node accepts certificates whose extensions are not valid DER or whose times are invalid. */
function reading<T>(read: () => T): Result<T> {
  try {
    return ok(read())
  } catch (error) {
    if (error instanceof DerError || error instanceof RangeError)
      return problem('holds a malformed certificate')
    throw error
  }
}

const factsOf = (certificate: X509Certificate, extensions: Extensions) => ({
  subject_common_name: firstOf(namesOf(certificate).subject, 'CN'),
  not_before: isoSeconds(Date.parse(certificate.validFrom)),
  not_after: isoSeconds(Date.parse(certificate.validTo)),
  key_usages: keyUsages(extensions),
  extended_key_usages: extendedKeyUsages(extensions),
})

// --- names ---

type Names = Readonly<Record<string, string | readonly string[] | undefined>>

/** Unlike `certificate.subject`, which is text with escapes, this returns values as they are. */
const namesOf = (certificate: X509Certificate): { subject: Names; issuer: Names } => {
  const { subject = {}, issuer = {} } = certificate.toLegacyObject() as unknown as Record<string, Names>
  return { subject, issuer }
}

/** The first value of a name; null if there is none. */
function firstOf(names: Names, name: string): string | null {
  const value = names[name]
  return (typeof value === 'string' ? value : value?.[0]) ?? null
}

// --- extensions ---

/** The DER of each extension by its object identifier. */
type Extensions = ReadonlyMap<string, Uint8Array>

function extensionsOf({ raw }: X509Certificate): Extensions {
  const [certificate] = derValues(raw)
  const [signedPart] = derMembers(certificate, derTags.sequence)
  const wrapped = derMembers(signedPart, derTags.sequence).find(({ tag }) => tag === extensionsTag)
  if (wrapped === undefined) return new Map()
  const [list] = derMembers(wrapped, extensionsTag)
  return new Map(
    derMembers(list, derTags.sequence).map((extension) => {
      const members = derMembers(extension, derTags.sequence)
      // An optional value between the two says whether the extension is critical.
      return [derOid(members[0]), derContent(members.at(-1), derTags.octetString)]
    }),
  )
}

function keyUsages(extensions: Extensions): string[] {
  const bytes = extensions.get(extensionOids.keyUsage)
  if (bytes === undefined) return []
  return derBits(derValues(bytes)[0]).flatMap((bit) => keyUsageNames[bit] ?? [])
}

function extendedKeyUsages(extensions: Extensions): string[] {
  const bytes = extensions.get(extensionOids.extendedKeyUsage)
  if (bytes === undefined) return []
  const oids = derMembers(derValues(bytes)[0], derTags.sequence).map(derOid)
  return oids.map((oid) => extendedKeyUsageNames[oid] ?? oid)
}

function alternativeNames(extensions: Extensions): { dns_names: string[]; ips: string[] } {
  const bytes = extensions.get(extensionOids.alternativeNames)
  const names = bytes === undefined ? [] : derMembers(derValues(bytes)[0], derTags.sequence)
  const contentsOf = (wanted: number) =>
    names.filter(({ tag }) => tag === wanted).map(({ content }) => Buffer.from(content))
  return {
    dns_names: contentsOf(dnsNameTag).map((name) => name.toString('latin1')),
    ips: contentsOf(ipAddressTag).map(addressOf),
  }
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return formatAddress(4, [0, 0, 0, bytes.readUInt32BE()])
  if (bytes.length !== 16) throw new DerError()
  return formatAddress(
    6,
    [0, 4, 8, 12].map((offset) => bytes.readUInt32BE(offset)),
  )
}

// --- keys ---

/** The curves that TLS has signatures for (RFC 8446, 4.2.3), as Node calls them. */
const curves: readonly string[] = ['prime256v1', 'secp384r1', 'secp521r1']

/** The type of the certificate's key, if TLS servers can use it. */
export function keyTypeOf(certificate: X509Certificate): Result<PrivateKeyType> {
  const key = publicKeyOf(certificate)
  const { modulusLength: bits = 0, namedCurve: curve = '' } = key?.asymmetricKeyDetails ?? {}
  switch (key?.asymmetricKeyType) {
    case 'rsa':
      return bits >= rsaCertificateKeyBitsMin && bits <= rsaCertificateKeyBitsMax
        ? ok('rsa')
        : problem(
            `has an RSA key of ${bits} bits: ${rsaCertificateKeyBitsMin} to ${rsaCertificateKeyBitsMax} are allowed`,
          )
    case 'ec':
      return curves.includes(curve)
        ? ok('ecdsa')
        : problem(`has a key on the curve ${curve}: P-256, P-384 and P-521 are allowed`)
    case 'ed25519':
      return ok('ed25519')
    default:
      return problem(
        `has a key of the type ${key?.asymmetricKeyType ?? 'unknown'}: RSA, ECDSA and Ed25519 are allowed`,
      )
  }
}

/** Undefined if Node does not support the type of key. */
function publicKeyOf(certificate: X509Certificate): KeyObject | undefined {
  try {
    return certificate.publicKey
  } catch {
    return undefined
  }
}
