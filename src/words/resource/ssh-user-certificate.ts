import { badRequest } from '../../ground/core/errors.js'
import { sshOptionFields } from './fields/ssh-certificate-options.js'
import { defineResource } from './kind/define.js'
import {
  issueCertificate,
  sshCertificateExample,
  sshCertificateFields,
  userPrincipals,
} from './ssh-certificate-fields.js'

/** A day. */
const seconds = 24 * 60 * 60

export const sshUserCertificate = defineResource({
  kind: 'ssh_user_certificate',
  idPrefix: 'sucrt_',
  path: '/ssh_user_certificates',
  listName: 'ssh_user_certificates',
  title: 'SSH user certificate',
  about: 'Proves the identity of a user to SSH servers; valid for a day by default.',
  example: {
    ...sshCertificateExample,
    principals: ['alice'],
  },
  audit: 'ssh_user_certificate',
  fields: { ...sshCertificateFields(userPrincipals), ...sshOptionFields },
  /** A certificate of an earlier version may have none: it can be described, but not restored. */
  check({ principals }, previous) {
    if (principals.length > 0 || previous !== undefined) return
    throw badRequest('"principals" is empty: servers refuse a user certificate that names no user.')
  },
  async prepare(draft, tools) {
    const { critical_options: criticalOptions, extensions } = draft
    return {
      ...draft,
      ...(await issueCertificate(draft, { type: 'user', seconds, criticalOptions, extensions }, tools)),
    }
  },
})
