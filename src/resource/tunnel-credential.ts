import { defineResource } from './define.js'
import { bearerToken, withToken } from './fields/bearer-token.js'
import { bindAcl } from './fields/bind-acl.js'
import { described } from './fields/fields.js'

export const tunnelCredential = defineResource({
  kind: 'tunnel_credential',
  idPrefix: 'cr_',
  path: '/credentials',
  listName: 'credentials',
  title: 'tunnel credential',
  about: 'A token that authenticates agents, and what they may bind. It is shown once, at creation.',
  example: { description: 'build server', acl: ['bind:*.example.com'] },
  audit: 'tunnel_credential',
  deletionRevokes: true,
  fields: { ...described, ...bearerToken, acl: bindAcl },
  derive: withToken,
})
