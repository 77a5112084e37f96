import { defineResource } from './define.js'
import { issued, sshCertificateExample, sshCertificateFields } from './ssh-certificate-fields.js'

/** A year. */
const seconds = 365 * 24 * 60 * 60

export const sshHostCertificate = defineResource({
  kind: 'ssh_host_certificate',
  idPrefix: 'shcrt_',
  path: '/ssh_host_certificates',
  listName: 'ssh_host_certificates',
  title: 'SSH host certificate',
  about: 'Proves an SSH server to its users; valid for a year where nothing is said.',
  example: {
    ...sshCertificateExample,
    principals: ['ssh.example.com'],
  },
  audit: 'ssh_host_certificate',
  fields: sshCertificateFields,
  /** Host certificates have no options: none is defined for them. */
  prepare: async (draft, tools) => ({
    ...draft,
    ...(await issued(draft, { type: 'host', seconds, criticalOptions: {}, extensions: {} }, tools)),
  }),
})
