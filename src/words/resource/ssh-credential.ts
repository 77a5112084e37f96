import { bindAcl } from './fields/bind-acl.js'
import { described } from './fields/fields.js'
import { sshPublicKeyField } from './fields/ssh-key-fields.js'
import { defineResource } from './kind/define.js'
import { exampleSshKey } from './kind/examples.js'

export const sshCredential = defineResource({
  kind: 'ssh_credential',
  idPrefix: 'sshcr_',
  path: '/ssh_credentials',
  listName: 'ssh_credentials',
  title: 'SSH credential',
  about: 'A key that authenticates agents over SSH, and what they may bind.',
  example: {
    description: 'build server',
    public_key: exampleSshKey,
    acl: ['bind:*.example.com'],
  },
  audit: 'ssh_public_key',
  fields: { ...described, public_key: sshPublicKeyField, acl: bindAcl },
})
