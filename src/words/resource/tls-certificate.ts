/** Certificates that terminate TLS, and their private keys, which are stored sealed and never shown. */
import type { X509Certificate } from 'node:crypto'
import { ok, problem, type Result } from '../../ground/core/errors.js'
import { boundedBytes, oneOf, Type } from '../../ground/core/schema.js'
import {
  keyTypeOf,
  leafFacts,
  privateKeyTypes,
  readCertificates,
  readPrivateKey,
} from '../../ground/pki/x509.js'
import {
  alternativeNamesField,
  certificateFactFields,
  certificatePem,
  certificateTime,
  usable,
} from './fields/certificate-fields.js'
import { assigned, derived, described, required, unseen } from './fields/fields.js'
import { defineResource } from './kind/define.js'
import { exampleCertificate, exampleCertificateFacts, examplePrivateKey } from './kind/examples.js'

/** No public authority issues longer chains, and TLS clients don't follow them. */
const certificatesPerChainMax = 10
/** An RSA key of 8,192 bits takes 6.4 KiB. */
const privateKeyPemBytesMax = 16 * 1024

const privateKeyPem = boundedBytes(
  privateKeyPemBytesMax,
  'The private key of the first certificate, without a passphrase. Stored sealed, and never shown.',
)

const privateKeyField = { ...unseen(required(privateKeyPem, { atCreation: true })), sealed: true }

const part = () => derived(Type.String())

export const tlsCertificate = defineResource({
  kind: 'tls_certificate',
  idPrefix: 'cert_',
  path: '/tls_certificates',
  listName: 'tls_certificates',
  title: 'TLS certificate',
  about: 'A certificate that terminates TLS, and its private key, which is stored sealed.',
  example: {
    description: 'www',
    certificate_pem: exampleCertificate,
    private_key_pem: examplePrivateKey,
    ...exampleCertificateFacts,
    serial_number: '68389bd60cfae2fdd173c7c14542c6d5befda398',
    subject_alternative_names: { dns_names: ['www.example.com'], ips: [] },
    private_key_type: 'ecdsa',
  },
  audit: 'tls_certificate',
  keptWhileReferenced: true,
  fields: {
    ...described,
    certificate_pem: required(certificatePem, { atCreation: true }),
    private_key_pem: privateKeyField,
    ...certificateFactFields,
    subject_alternative_names: alternativeNamesField,
    /** For certificates that Weir obtains; so far it obtains none. */
    issued_at: derived(certificateTime, { unset: 'null' }),
    private_key_type: assigned(oneOf(privateKeyTypes)),
    issuer_common_name: part(),
    serial_number: assigned(Type.String()),
    subject_organization: part(),
    subject_organizational_unit: part(),
    subject_locality: part(),
    subject_province: part(),
    subject_country: part(),
  },
  derive(draft, previous, tools) {
    if (previous !== undefined) return draft
    const { pem, certificates } = usable(
      'certificate_pem',
      readCertificates(draft.certificate_pem, certificatesPerChainMax),
    )
    const [leaf] = certificates
    usable('certificate_pem', inOrder(certificates))
    const private_key_type = usable('certificate_pem', keyTypeOf(leaf))
    return {
      ...draft,
      certificate_pem: pem,
      private_key_pem: tools.seal(privateKeyOf(leaf, draft.private_key_pem), privateKeyBelongsTo(draft)),
      private_key_type,
      ...usable('certificate_pem', leafFacts(leaf)),
    }
  },
})

/** The context that a certificate's sealed private key is bound to. */
export const privateKeyBelongsTo = (row: { readonly account_id: string; readonly id: string }): string =>
  `${row.account_id}/${row.id}/private_key_pem`

/** Each certificate is issued by the next (RFC 8446, 4.4.2). */
function inOrder(certificates: readonly X509Certificate[]): Result<true> {
  for (const [index, certificate] of certificates.entries()) {
    const issuer = certificates[index + 1]
    if (issuer === undefined || certificate.checkIssued(issuer)) continue
    return problem(
      `is not a chain: certificate ${index + 1} was not issued by certificate ${index + 2}; the server's own must come first, and after each the one that issued it`,
    )
  }
  return ok(true)
}

/** The key as PKCS #8, whatever form it was sent in. */
function privateKeyOf(leaf: X509Certificate, text: string): string {
  const key = usable('private_key_pem', readPrivateKey(text))
  if (!leaf.checkPrivateKey(key)) usable('private_key_pem', problem(foreignKey))
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

const foreignKey = 'does not belong to the first certificate in "certificate_pem"'
