/** Certificate authorities that client certificates are verified against. */
import { problem } from '../../ground/core/errors.js'
import { certificateFacts, readCertificates } from '../../ground/pki/x509.js'
import { certificateFactFields, certificatePem, usable } from './fields/certificate-fields.js'
import { described, required } from './fields/fields.js'
import { defineResource } from './kind/define.js'
import { exampleCertificate, exampleCertificateFacts } from './kind/examples.js'

/** The fields describe one certificate; the others of a bundle would not be visible. */
const certificatesPerAuthority = 1

export const certificateAuthority = defineResource({
  kind: 'certificate_authority',
  idPrefix: 'ca_',
  path: '/certificate_authorities',
  listName: 'certificate_authorities',
  title: 'certificate authority',
  about: 'An authority that client certificates are checked against.',
  example: {
    description: 'our devices',
    ca_pem: exampleCertificate,
    ...exampleCertificateFacts,
  },
  audit: 'certificate_authority',
  fields: {
    ...described,
    ca_pem: required(certificatePem, { atCreation: true }),
    ...certificateFactFields,
  },
  derive(draft, previous) {
    if (previous !== undefined) return draft
    const { pem, certificates } = usable('ca_pem', readCertificates(draft.ca_pem, certificatesPerAuthority))
    const [certificate] = certificates
    if (!certificate.ca) usable('ca_pem', problem(notAnAuthority))
    return { ...draft, ca_pem: pem, ...usable('ca_pem', certificateFacts(certificate)) }
  },
})

const notAnAuthority =
  'is not the certificate of an authority: its basic constraints (RFC 5280, 4.2.1.9) must say "CA:TRUE"'
