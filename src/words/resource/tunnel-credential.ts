import { bearerToken, lastUse, withToken } from './fields/bearer-token.js'
import { bindAcl } from './fields/bind-acl.js'
import { described } from './fields/fields.js'
import { defineResource } from './kind/define.js'

export const tunnelCredential = defineResource({
  kind: 'tunnel_credential',
  idPrefix: 'cr_',
  path: '/credentials',
  listName: 'credentials',
  title: 'tunnel credential',
  about: 'A token that authenticates agents, and what they may bind. It is shown once, at creation.',
  example: {
    description: 'build server',
    acl: ['bind:*.example.com'],
    last_used_at: '2026-11-20T10:00:00Z',
    last_used_from: '192.0.2.10',
  },
  audit: 'tunnel_credential',
  deletionRevokes: true,
  fields: { ...described, ...bearerToken, acl: bindAcl, ...lastUse('by an agent that was refused') },
  derive: withToken,
})
