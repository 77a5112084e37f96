import { bearerToken, withToken } from './bearer-token.js'
import { defineResource } from './define.js'
import { described } from './fields.js'

export const apiKey = defineResource({
  kind: 'api_key',
  idPrefix: 'ak_',
  path: '/api_keys',
  listName: 'keys',
  title: 'API key',
  about: 'A token that authenticates requests to this API. It is shown once, when the key is created.',
  example: { description: 'deployment' },
  audit: 'api_key',
  fields: { ...described, ...bearerToken },
  derive: withToken,
})
