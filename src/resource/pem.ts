/**
 * Certificates and private keys as PEM text (RFC 7468).
 *
 * What is wrong is told without the text: it may be a private key that was pasted in the wrong place.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { ok, problem, type Result } from '../core/errors.js'

/** No other block of PEM can stand within one, for it holds no hyphen. */
const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const anyBlock = /-----BEGIN ([^-]*)-----/

export interface CertificateList {
  /** The certificates alone, one line ending for all: text around them is left out. */
  readonly pem: string
  /** In the order of the text; at least one. */
  readonly certificates: readonly [X509Certificate, ...X509Certificate[]]
}

/** All certificates of the text; a problem begins with what is wrong. */
export function readCertificates(text: string, countMax: number): Result<CertificateList> {
  if (text.includes('PRIVATE KEY')) return problem('holds a private key: only certificates belong there')
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

/** The private key of the text, whichever of PKCS #8, PKCS #1 and SEC 1 it has. */
export function readPrivateKey(text: string): Result<KeyObject> {
  if (text.includes('ENCRYPTED')) return problem('is encrypted: a key without a passphrase is needed')
  try {
    return ok(createPrivateKey(text))
  } catch {
    return problem('is no private key in PEM form (PKCS #8, PKCS #1 or SEC 1)')
  }
}
