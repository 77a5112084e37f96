import { boundedBytes, Type } from '../../ground/core/schema.js'
import { defaulted, required } from './fields/fields.js'
import { defineResource } from './kind/define.js'

/**
 * Owner of all other resources. Accounts and their rights are managed from the command line; the API has no path for them.
 */
export const account = defineResource({
  kind: 'account',
  idPrefix: 'ac_',
  path: '/accounts',
  listName: 'accounts',
  title: 'account',
  about: 'The owner of all other resources.',
  example: { name: 'acme', rights: [] },
  operations: [],
  fields: {
    name: required(boundedBytes(255)),
    rights: defaulted(Type.Array(Type.String()), []),
  },
})
