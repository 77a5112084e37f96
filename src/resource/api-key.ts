import { Type } from '../core/schema.js'
import { defineResource } from './define.js'
import { described, hidden, oneTimeToken } from './fields.js'

export const apiKey = defineResource({
  kind: 'api_key',
  idPrefix: 'ak_',
  path: '/api_keys',
  listName: 'keys',
  title: 'API key',
  audit: 'api_key',
  fields: { ...described, token: oneTimeToken(), token_hash: hidden(Type.String()) },
  derive(draft, previous, tools) {
    if (previous !== undefined) return draft
    const { token, hash } = tools.newToken()
    tools.answerOnce({ token })
    return { ...draft, token_hash: hash }
  },
})
