import { bearerToken, withToken } from './bearer-token.js'
import { bindAcl } from './bind-acl.js'
import { defineResource } from './define.js'
import { described } from './fields.js'

/** What an agent proves itself with, and what it may bind then. */
export const tunnelCredential = defineResource({
  kind: 'tunnel_credential',
  idPrefix: 'cr_',
  path: '/credentials',
  listName: 'credentials',
  title: 'tunnel credential',
  audit: 'tunnel_credential',
  fields: { ...described, ...bearerToken, acl: bindAcl },
  derive: withToken,
})
