/**
 * Certificates and private keys as PEM text (RFC 7468).
 *
 * Problems never quote the text: it may be a private key that was pasted in the wrong place. Their messages follow the
 * name of a field, as in "ca_pem holds a malformed certificate".
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { ok, problem, type Result } from '../core/errors.js'

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
