/** Bearer tokens: shown once, in the response that creates the resource; only a hash is stored. */
import { Type } from '../../../ground/core/schema.js'
import type { DeriveTools } from '../kind/define.js'
import { hidden, observed, oneTimeToken } from './fields.js'

export const bearerToken = { token: oneTimeToken(), token_hash: hidden(Type.String()) }

/** When and from where the token was used last; `also`: uses that count although they were in vain. */
export const lastUse = (also: string) => ({
  last_used_at: observed(
    Type.String({
      format: 'date-time',
      description: `When it was used last, also ${also}; null: never. Up to a minute late.`,
    }),
  ),
  last_used_from: observed(Type.String({ description: 'The address that it was used from.' })),
})

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
