import { defineResource } from './kind/define.js'
import {
  hostPrincipals,
  issueCertificate,
  refusedBy,
  refusedByField,
  sshCertificateExample,
  sshCertificateFields,
} from './ssh-certificate-fields.js'

/** A year. */
const seconds = 365 * 24 * 60 * 60

export const sshHostCertificate = defineResource({
  kind: 'ssh_host_certificate',
  idPrefix: 'shcrt_',
  path: '/ssh_host_certificates',
  listName: 'ssh_host_certificates',
  title: 'SSH host certificate',
  about: 'Proves the identity of an SSH server to its users; valid for a year by default.',
  example: {
    ...sshCertificateExample,
    principals: ['ssh.example.com'],
    refused_by: null,
  },
  audit: 'ssh_host_certificate',
  fields: { ...sshCertificateFields(hostPrincipals), refused_by: refusedByField },
  /** No options are defined for host certificates. */
  async prepare(draft, tools) {
    const traits = { type: 'host', seconds, criticalOptions: {}, extensions: {} } as const
    const issued = await issueCertificate(draft, traits, tools)
    return { ...draft, ...issued, refused_by: refusedBy(issued.certificate) }
  },
  // Certificates may have been stored without it.
  embed: ({ certificate }) => ({ refused_by: refusedBy(certificate) }),
})
