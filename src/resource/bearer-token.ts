/** Bearer tokens: told once, in the response that creates the resource; what is kept is a hash. */
import { Type } from '../core/schema.js'
import type { DeriveTools } from './define.js'
import { hidden, oneTimeToken } from './fields.js'

export const bearerToken = { token: oneTimeToken(), token_hash: hidden(Type.String()) }

/** Gives a new resource its token. */
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
