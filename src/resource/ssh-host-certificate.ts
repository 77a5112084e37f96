import { defineResource } from './define.js'
import {
  hostPrincipals,
  issueCertificate,
  sshCertificateExample,
  sshCertificateFields,
} from './fields/ssh-certificate-fields.js'

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
  },
  audit: 'ssh_host_certificate',
  fields: sshCertificateFields(hostPrincipals),
  /** No options are defined for host certificates. */
  prepare: async (draft, tools) => ({
    ...draft,
    ...(await issueCertificate(draft, { type: 'host', seconds, criticalOptions: {}, extensions: {} }, tools)),
  }),
})
