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
  about: 'A token that agents prove themselves with, and what they may bind. The token is told once.',
  example: { description: 'build server', acl: ['bind:*.example.com'] },
  audit: 'tunnel_credential',
  fields: { ...described, ...bearerToken, acl: bindAcl },
  derive: withToken,
})
