/** Bearer tokens: shown once, in the response that creates the resource; only a hash is stored. */
import { Type } from '../../core/schema.js'
import type { DeriveTools } from '../define.js'
import { hidden, oneTimeToken } from './fields.js'

export const bearerToken = { token: oneTimeToken(), token_hash: hidden(Type.String()) }

/** Creates the token of a new resource. */
export function withToken<D extends { readonly token_hash: string | null }>(
  draft: D,
  previous: D | undefined,
  tools: DeriveTools,
): D {
  if (previous !== undefined) return draft
  const { token, hash } = tools.newToken()
  tools.answerOnce({ token })
  return { ...draft, token_hash: hash }
}
